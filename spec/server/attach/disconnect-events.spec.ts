import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/util/clock.js'
import { eventually } from '../../support/eventually.js'
import { openAttached } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { StoreClient } from '../../support/store-client.js'
import { notificationTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

// The topic filter resembles those of EMQX and rmqtt, but the client that acts as the broker may publish to these
// topics.
const EVENTS = 'events/brokers/+/clients/+/disconnected'
const EVENT = (clientId: string): string => `events/brokers/emqx@127.0.0.1/clients/${clientId}/disconnected`
const PAYLOAD = JSON.stringify({ clientid: 'alice', reason: 'tcp_closed', disconnected_at: 1_700_000_000_000 })

/** Opens a store that handles these events, with three keys watched by `alice`. */
async function openWithWatches() {
  const { port } = await openBroker()
  const url = `mqtt://127.0.0.1:${port}`
  let later = 0
  const clock: Clock = { ...systemClock, monotonic: () => performance.now() + later }
  const store = await openAttached(url, { disconnectEvents: EVENTS, clock })
  const alice = await StoreClient.ready(url, 'alice')
  for (const key of ['a', 'b', 'c']) await alice.request(command(`KEYNOTIFY ${key}`))
  const broker = await StoreClient.ready(url, 'broker')
  const wait = (ms: number): void => {
    later += ms
  }
  return { store, alice, broker, wait }
}

describe('a notification without a receiver', () => {
  it("ends the client's registrations for that key, including matching globs, and no others", async () => {
    const { port } = await openBroker()
    const url = `mqtt://127.0.0.1:${port}`
    const store = await openAttached(url)
    const alice = await StoreClient.ready(url, 'alice')
    for (const words of ['KEYNOTIFY a1', 'KEYNOTIFY b1', 'GLOBNOTIFY a*', 'GLOBNOTIFY b*'])
      await alice.request(command(words))
    expect(store.stats.watches).toBe(202)
    await alice.disconnect()
    const writer = await StoreClient.ready(url, 'writer')
    const set = async (key: string): Promise<unknown> =>
      writer.request(command(`SET ${key} v`), { timestamp: `${Date.now()}:0:C` })
    await set('a1')
    await eventually(() => store.stats.watches === 101)
    await set('b1')
    await eventually(() => store.stats.watches === 0)
  })
})

describe('a disconnect message of the broker', () => {
  it('ends all registrations of the disconnected client, but of no other client', async () => {
    const { store, broker, wait } = await openWithWatches()
    await broker.request(command('KEYNOTIFY d'))
    wait(10_000)
    await broker.publish(EVENT('alice'), PAYLOAD)
    await eventually(() => store.stats.watches === 1)
  })

  it('is ignored if it arrives shortly after a request, because the client has reconnected', async () => {
    const { store, alice, broker, wait } = await openWithWatches()
    wait(10_000)
    await alice.request(command('KEYNOTIFY a'))
    wait(4_000)
    await broker.publish(EVENT('alice'), PAYLOAD)
    await broker.request(command('SET a v'), { timestamp: `${Date.now()}:0:C` })
    const [told] = await alice.arrived(1)
    expect([told?.topic, store.stats.watches]).toEqual([notificationTopicOf('alice', 'a'), 3])
  })

  it('is ignored if its content is malformed or foreign', async () => {
    const { store, broker, wait } = await openWithWatches()
    wait(10_000)
    const names = ['', 'nobody', '__proto__', 'alice ', 'ALICE', 'x'.repeat(60_000)]
    for (const name of names) await broker.publish(EVENT(name), '\0{"clientid":"alice"')
    await broker.publish('events/brokers/x/clients/alice/connected', PAYLOAD)
    await broker.publish('events/brokers/x/clients/alice/disconnected/alice', PAYLOAD)
    await broker.settled()
    expect([store.stats.watches, store.state.state]).toEqual([3, 'serving'])
    await broker.publish(EVENT('alice'), 'x'.repeat(1_000_000))
    await eventually(() => store.stats.watches === 0)
  })
})
