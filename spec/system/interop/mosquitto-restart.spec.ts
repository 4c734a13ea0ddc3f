import { expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { attach } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openClient } from '../../support/open-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const ROUNDS = 4

it('a restarted Mosquitto does not make a standby with an empty directory the active service', async () => {
  let mosquitto = await Mosquitto.start()
  onTestFinished(async () => mosquitto.stop())
  const { port } = mosquitto
  const url = `mqtt://127.0.0.1:${port}`
  const reconnect = { initial: 20, max: 200 }
  const active = await openAttached(url, { data: temporaryFolder() })
  const standby = await attach(url, { data: temporaryFolder(), reconnect })
  onTestFinished(async () => standby.close())
  await untilState(standby, 'standby')
  for (let round = 0; round < ROUNDS; round++) {
    const key = openClient(url).key(`a${round}`, text)
    await key.set('acknowledged')
    await mosquitto.stop()
    await untilState(standby, 'reconnecting')
    mosquitto = await Mosquitto.start({ port })
    await eventually(() => active.state.state === 'serving' && standby.state.state === 'standby')
    expect(await key.get()).toMatchObject({ value: 'acknowledged' })
  }
})
