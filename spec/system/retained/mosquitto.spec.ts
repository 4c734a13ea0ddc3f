import { access, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { connectAsync } from 'mqtt'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/client/index.js'
import { retained } from '../../../src/client/retained/index.js'
import { layLink } from '../../support/link.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const TOPICS = 10_000

/** Writes to the wanted topics and records their values. An empty text clears a topic. */
async function openWriter(url: string, truth: Map<string, string>) {
  const client = await connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0 })
  const write = (value: string, wanted: (i: number) => boolean) => {
    const numbers = Array.from({ length: TOPICS }, (_, i) => i).filter(wanted)
    return Promise.all(
      numbers.map(i => {
        if (value === '') truth.delete(`of/${i}`)
        else truth.set(`of/${i}`, `${value} ${i}`)
        const payload = value && `${value} ${i}`
        return client.publishAsync(`plant/${i}/temp`, payload, { qos: 1, retain: true })
      }),
    )
  }
  return { write, end: () => client.endAsync(true) }
}

describe('a retained sync with Mosquitto', () => {
  it('the last values of 10,000 topics survive a lost connection and a killed broker', async () => {
    const folder = temporaryFolder()
    // Mosquitto drops root privileges.
    await chmod(folder, 0o777)
    const lines = ['persistence true', `persistence_location ${folder}/`, 'autosave_interval 0']
    let broker = await Mosquitto.launch({ lines })
    const { store } = await openStore({ clock: systemClock })
    const link = await layLink(broker.url)
    const sync = retained(openClient(store.url), link.url, {
      topic: 'plant/+/temp',
      keys: 'of/{1}',
      connection: { reconnect: { max: 100 } },
    })
    onTestFinished(async () => sync.close())
    const status = record(sync.status$)
    const errors = record(sync.errors$)
    const truth = new Map<string, string>()

    const before = await openWriter(broker.url, truth)
    await before.write('first', () => true)
    const second = before.write('second', () => true)
    await status.until(({ values }) => values.some(({ state }) => state === 'live'))
    // The connection is cut while messages are arriving.
    link.cut()
    await second
    await before.write('third', i => i % 3 === 0)
    await before.write('', i => i % 7 === 0)
    broker.signal('SIGUSR1')
    await vi.waitFor(() => access(join(folder, 'mosquitto.db')), { timeout: 10_000 })
    await before.end()
    await broker.stop('SIGKILL')

    broker = await Mosquitto.launch({ port: broker.port, lines })
    const after = await openWriter(broker.url, truth)
    await after.write('fourth', i => i % 11 === 0)
    await after.write('', i => i % 13 === 0)
    link.restore()
    await after.write('fifth', i => i % 17 === 0)
    await after.write('', i => i % 19 === 0)
    await after.end()

    const found = () => new Map(Array.from(store.dump(), ({ key = '', value }) => [key, value]))
    const wrong = () => {
      const all = found()
      const names = new Set([...all.keys(), ...truth.keys()])
      return Array.from(names).filter(name => all.get(name) !== truth.get(name))
    }
    await vi.waitFor(() => expect(wrong()).toEqual([]), { timeout: 60_000, interval: 500 })
    expect(truth.size).toBeGreaterThan(TOPICS / 2)
    expect(errors.values).toEqual([])
    expect(sync.stats.topics).toBe(truth.size)
  }, 120_000)
})
