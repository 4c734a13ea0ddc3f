import { describe, expect, it } from 'vitest'
import type { StoreServer } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { notificationTopicOf, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const PERSISTENT = { clean: false, properties: { sessionExpiryInterval: 60 } }
const SET_NOTIFICATION = '*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nv\r\n'

const watch = async (client: StoreClient, key = 'k'): Promise<void> => {
  expect((await client.request(command(`KEYNOTIFY ${key}`))).text).toBe('+OK\r\n')
}

async function change(store: StoreServer, key = 'k'): Promise<void> {
  const writer = await StoreClient.ready(store.url, 'writer')
  expect((await writer.request(command(`SET ${key} v`), { timestamp: NOW })).text).toBe('+OK\r\n')
  await writer.disconnect()
}

/** Returns the topics of messages that the client received, after those in flight have arrived. */
async function received(client: StoreClient): Promise<string[]> {
  await client.settled()
  return client.inbox.map(({ topic }) => topic)
}

describe('a notification', () => {
  it("has the topic of the protocol's example, QoS 1, a version and a protocol version", async () => {
    const { store } = await openStore()
    const client = await StoreClient.ready(store.url, 'client-id1')
    await watch(client, 'SOMEKEY')
    const { version } = await client.request(command('SET SOMEKEY v'), { timestamp: NOW })
    const [notification] = await client.arrived(1)
    expect(notification?.topic).toBe(
      'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/636C69656E742D696431/command/notify/534F4D454B4559',
    )
    expect(notification?.packet).toMatchObject({ qos: 1, retain: false })
    expect(notification?.property('__protVer')).toBe('1.0')
    expect(notification?.version).toBe(version)
    expect(notification?.text).toBe(SET_NOTIFICATION)
  })

  it('topic has the client id in upper-case Base16 of its UTF-8 bytes', async () => {
    const { store } = await openStore()
    const client = await StoreClient.connect(store.url, 'jörg/#1')
    await client.subscribe('answers')
    await client.sendRequest(command('KEYNOTIFY jk'), { responseTopic: 'answers' })
    await client.sendRequest(command('SET jk v'), { responseTopic: 'answers', timestamp: NOW })
    const topics = (await client.arrived(3)).map(({ topic }) => topic.split('/').slice(-4).join('/'))
    expect(topics).toContain('6AC3B672672F2331/command/notify/6A6B')
  })

  it('is sent to registered clients without a subscription', async () => {
    const { store } = await openStore()
    const client = await StoreClient.connect(store.url, 'go-client')
    await client.subscribe(responseTopicOf('go-client'))
    await watch(client)
    await change(store)
    expect(await received(client)).toEqual([notificationTopicOf('go-client', 'k')])
  })

  it.each(['exact', 'one level', '#'])(
    'is sent only once to a registered client that also has a subscription (%s)',
    async how => {
      const { store } = await openStore()
      const client = await StoreClient.connect(store.url, 'alice')
      await client.subscribe(responseTopicOf('alice'))
      const filters = { exact: notificationTopicOf('alice', 'k'), 'one level': notificationTopicOf('alice') }
      await client.subscribe(how === 'exact' || how === 'one level' ? filters[how] : '#')
      await watch(client)
      await change(store)
      expect((await received(client)).filter(topic => topic.includes('/notify/'))).toEqual([
        notificationTopicOf('alice', 'k'),
      ])
    },
  )

  it.each([0, 1] as const)('is not repeated when a session resumes (subscribed with QoS %i)', async qos => {
    const { store } = await openStore()
    const before = await StoreClient.connect(store.url, 'alice', PERSISTENT)
    await before.subscribe(responseTopicOf('alice'))
    await before.subscribe({ topic: notificationTopicOf('alice', 'k'), qos })
    await watch(before)
    await change(store)
    expect(await received(before)).toEqual([notificationTopicOf('alice', 'k')])
    await before.disconnect()
    const after = await StoreClient.connect(store.url, 'alice', PERSISTENT)
    expect(await received(after)).toEqual([])
  })

  it('is sent to no other client, even to a client that subscribes to #', async () => {
    const { store } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    const spy = await StoreClient.connect(store.url, 'spy')
    for (const filter of ['#', 'clients/#', 'clients/+/+/+/+/command/notify/+']) await spy.subscribe(filter)
    await watch(alice)
    await change(store)
    await received(alice)
    await alice.publish('marker', 'end')
    expect((await spy.arrived(1)).map(({ topic }) => topic)).toEqual(['marker'])
  })
})

describe("with notifications 'subscribed', a notification", () => {
  it('is sent only to registered clients with a subscription', async () => {
    const { store } = await openStore({ notifications: 'subscribed' })
    const client = await StoreClient.connect(store.url, 'alice')
    await client.subscribe(responseTopicOf('alice'))
    await watch(client)
    await change(store)
    expect(await received(client)).toEqual([])
    await client.subscribe(notificationTopicOf('alice'))
    await change(store)
    expect(await received(client)).toEqual([notificationTopicOf('alice', 'k')])
  })

  it('is sent only for the subscribed key', async () => {
    const { store } = await openStore({ notifications: 'subscribed' })
    const client = await StoreClient.connect(store.url, 'alice')
    await client.subscribe(responseTopicOf('alice'))
    await client.subscribe(notificationTopicOf('alice', 'k'))
    for (const key of ['k', 'other']) await watch(client, key)
    for (const key of ['other', 'k']) await change(store, key)
    expect(await received(client)).toEqual([notificationTopicOf('alice', 'k')])
  })

  it('is not sent after UNSUBSCRIBE', async () => {
    const { store } = await openStore({ notifications: 'subscribed' })
    const client = await StoreClient.ready(store.url, 'alice')
    await watch(client)
    await client.unsubscribe(notificationTopicOf('alice'))
    await change(store)
    expect(await received(client)).toEqual([])
  })

  async function receivedWithSubscription(filter: string): Promise<readonly string[]> {
    const { store } = await openStore({ notifications: 'subscribed' })
    const client = await StoreClient.connect(store.url, 'alice')
    await client.subscribe(responseTopicOf('alice'))
    await client.subscribe(filter)
    await watch(client)
    await change(store)
    return received(client)
  }

  it.each(['#', 'clients/#', '+/+/+/+/+/+/+/+', 'clients/statestore/+/+/616C696365/command/notify/+'])(
    'is sent to a client with the matching subscription %s',
    async filter => {
      expect(await receivedWithSubscription(filter)).toEqual([notificationTopicOf('alice', 'k')])
    },
  )

  it.each(['+/+', 'clients/+', 'other/#', 'clients/statestore', '+/+/+/+/+/+/+/+/+'])(
    'is not sent to a client with the subscription %s, which does not match',
    async filter => {
      expect(await receivedWithSubscription(filter)).toEqual([])
    },
  )

  it('is sent to a client whose subscription belongs to a resumed session', async () => {
    const { store } = await openStore({ notifications: 'subscribed' })
    const before = await StoreClient.ready(store.url, 'alice', PERSISTENT)
    await before.disconnect()
    const after = await StoreClient.connect(store.url, 'alice', PERSISTENT)
    await watch(after)
    await change(store)
    expect(await received(after)).toEqual([notificationTopicOf('alice', 'k')])
  })

  it('requires KEYNOTIFY in addition to the subscription', async () => {
    const { store } = await openStore({ notifications: 'subscribed' })
    const client = await StoreClient.ready(store.url, 'alice')
    await change(store)
    expect(await received(client)).toEqual([])
  })
})

describe('the end of watches', () => {
  it.each([
    ['disconnects', async (client: StoreClient) => client.disconnect()],
    ['loses its connection', async (client: StoreClient) => client.cut()],
  ])('watches end when their client %s, which gets no notification after reconnecting', async (_, leave) => {
    const { store } = await openStore()
    const before = await StoreClient.ready(store.url, 'alice')
    await watch(before)
    await leave(before)
    await before.closed
    const after = await StoreClient.ready(store.url, 'alice')
    await change(store)
    expect(await received(after)).toEqual([])
    expect(store.stats.watches).toBe(0)
  })

  it('the watches of a client end when the operator cuts its connection', async () => {
    const { store } = await openStore()
    const before = await StoreClient.ready(store.url, 'alice')
    await watch(before)
    expect(store.cut('alice')).toBe(true)
    await before.closed
    const after = await StoreClient.ready(store.url, 'alice')
    await change(store)
    expect(await received(after)).toEqual([])
  })

  it('the watches of a client end with its connection even if its MQTT session is kept', async () => {
    const { store } = await openStore()
    const before = await StoreClient.ready(store.url, 'alice', PERSISTENT)
    await watch(before)
    await before.cut()
    await change(store)
    const after = await StoreClient.connect(store.url, 'alice', PERSISTENT)
    await change(store)
    expect(await received(after)).toEqual([])
    await watch(after)
    await change(store)
    expect(await received(after)).toEqual([notificationTopicOf('alice', 'k')])
  })

  it.each([{}, PERSISTENT])(
    "the watches of a client end when a new connection takes over the client's session (%o)",
    async session => {
      const { store } = await openStore()
      const first = await StoreClient.ready(store.url, 'alice', session)
      await watch(first)
      const second = await StoreClient.ready(store.url, 'alice', session)
      expect(await first.dismissed()).toBe(142)
      await change(store)
      expect([await received(second), store.stats.watches]).toEqual([[], 0])
      await watch(second)
      await change(store)
      expect(await received(second)).toEqual([notificationTopicOf('alice', 'k')])
    },
  )

  it('the end of one client does not affect the watches of another client', async () => {
    const { store } = await openStore()
    const [alice, bob] = [await StoreClient.ready(store.url, 'alice'), await StoreClient.ready(store.url, 'bob')]
    for (const client of [alice, bob]) await watch(client)
    await bob.disconnect()
    await change(store)
    expect(await received(alice)).toEqual([notificationTopicOf('alice', 'k')])
    expect(store.stats.watches).toBe(1)
  })
})
