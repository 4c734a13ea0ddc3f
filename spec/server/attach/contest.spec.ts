import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'

// The broker disconnects the previous owner of a client id with reason code 142. For any other client, this reason is
// permanent.
describe('a contested client id', () => {
  it('a store keeps its keys and instance id when the previous one reclaims the client id', {
    tags: 'slow',
  }, async () => {
    const broker = await openBroker()
    const url = `mqtt://127.0.0.1:${broker.port}`
    const clientId = `store-${randomUUID()}`
    const link = await layLink(url)
    const first = await openAttached(link.url, { clientId })
    link.cut()
    const second = await openAttached(url, { clientId })
    const states = record(second.state$)
    await openClient(url).key('a', text).set('of the second')
    const life = second.state
    link.restore()
    await untilState(first, 'standby')
    await states.until(({ values }) => values.length >= 3)
    await eventually(() => second.state.state === 'serving')
    expect(states.values.map(({ state }) => state)).toEqual(['serving', 'reconnecting', 'serving'])
    expect(second.state).toEqual(life)
    expect(await openClient(url).key('a', text).get()).toMatchObject({ value: 'of the second' })
  })
})
