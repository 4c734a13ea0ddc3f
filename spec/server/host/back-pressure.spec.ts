import type { IConnectPacket } from 'mqtt-packet'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { FrameCutter } from '../../../src/core/mqtt5/frame-cutter.js'
import { LIMIT } from '../../../src/server/broker/limits/limits.js'
import { Connection } from '../../../src/server/broker/session/connection.js'
import type { StoreServer } from '../../../src/server/index.js'
import { effort, some } from '../../support/effort.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { requestPacket } from '../../support/packets.js'
import { StoreClient } from '../../support/store-client.js'
import { TestClient } from '../../support/test-client.js'
import { notificationTopicOf, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'
const PERSISTENT = { clean: false, properties: { sessionExpiryInterval: 60 } } as const
const VALUE = 'x'.repeat(65_536)
const QUOTA_EXCEEDED = 151
/** The number of values that exceeds the socket buffers of both ends. */
const MANY = 1_000

const get = (id: number) => requestPacket('alice', command('GET big'), id)
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)

/** Shortens the time without progress after which the broker closes a connection, until the end of the test. */
function shortenStallTimeout(): void {
  const { stallTimeoutMs } = LIMIT
  Object.assign(LIMIT, { stallTimeoutMs: 1_000 })
  onTestFinished(() => void Object.assign(LIMIT, { stallTimeoutMs }))
}

/** Opens a store with a key of 64 KiB, and a client `alice`. */
async function open() {
  const { store } = await openStore()
  const writer = await StoreClient.ready(store.url, 'writer')
  await writer.request(command(`SET big ${VALUE}`), { timestamp: NOW })
  return { store, writer }
}

async function connect(store: StoreServer, options: Partial<IConnectPacket> = {}): Promise<TestClient> {
  const client = await TestClient.connect(store.url, 'alice', options)
  await client.subscribe(responseTopicOf('alice'))
  return client
}

describe('a client with more requests in flight than responses it can read', () => {
  const WAYS = [
    ['in a session that ends with the connection', 'url', {}],
    ['in a session that is kept', 'url', PERSISTENT],
    ['over WebSocket', 'wsUrl', PERSISTENT],
  ] as const

  it.each(some(WAYS, 1))(
    'a client with many requests in flight gets all responses: 512 values of 64 KiB, %s',
    { tags: 'slow' },
    async (_, transport, session) => {
      const { store } = await open()
      const client = await StoreClient.ready(store[transport], 'alice', session)
      const answers = await Promise.all(numbers(512).map(async () => client.request(command('GET big'))))
      expect(new Set(answers.map(({ payload }) => payload.length))).toEqual(new Set([VALUE.length + 10]))
      expect((await client.request(command('GET none'))).text).toBe('$-1\r\n')
    },
  )

  it('a client with many requests in flight gets all responses even if it pauses reading', async () => {
    const { store } = await open()
    const client = await connect(store)
    client.socket.pause()
    client.send(...numbers(MANY).map(get))
    let before = -1
    await eventually(() => {
      const still = before === store.stats.requests && before > 0
      before = store.stats.requests
      return still
    })
    client.socket.resume()
    await client.came('publish', MANY)
    expect(client.publishes.map(({ properties }) => String(properties?.correlationData))).toEqual(
      numbers(MANY).map(String),
    )
  })

  it('a client that requests without reading is disconnected before all are executed', {
    tags: 'slow',
  }, async () => {
    shortenStallTimeout()
    const { store, writer } = await open()
    const client = await connect(store)
    client.socket.pause()
    client.send(...numbers(MANY).map(get))
    await eventually(() => !store.clientIds.includes('alice'))
    expect(store.stats.requests).toBeLessThan(MANY)
    expect((await writer.request(command('GET none'))).text).toBe('$-1\r\n')
  })
})

describe('a client that does not read', () => {
  afterEach(() => vi.restoreAllMocks())

  it('is not read without limit either', { tags: 'slow' }, async () => {
    shortenStallTimeout()
    const { store } = await open()
    const client = await connect(store)
    const read = vi.spyOn(FrameCutter.prototype, 'push')
    client.socket.pause()
    client.send(...numbers(MANY).map(get))
    const set = requestPacket('alice', command(`SET other ${VALUE}`), 1, { userProperties: { __ts: NOW } })
    client.send(...Array(MANY).fill(set))
    await eventually(() => !store.clientIds.includes('alice'))
    const bytes = read.mock.calls.reduce((sum, [chunk]) => sum + chunk.length, 0)
    expect(bytes).toBeLessThan(4 * 1024 * 1024)
  })

  it('is disconnected as too slow when more than 16 MiB of notifications are queued', async () => {
    const { store, writer } = await open()
    const client = await connect(store)
    client.send(requestPacket('alice', command('KEYNOTIFY k'), 1))
    await client.came('publish')
    client.socket.pause()
    const disconnect = vi.spyOn(Connection.prototype, 'disconnect')
    const megabyte = command(`SET k ${'x'.repeat(1_048_576)}`)
    for (let i = 0; i < 40; i++) await writer.request(megabyte, { timestamp: NOW })
    expect(disconnect.mock.calls.map(([reasonCode]) => reasonCode)).toEqual([QUOTA_EXCEEDED])
    await eventually(() => !store.clientIds.includes('alice'))
  })
})

describe('a client with many unacknowledged messages', () => {
  const usual = LIMIT.queuedMessages
  const most = effort(usual, 1_000)

  beforeEach(() => {
    Object.assign(LIMIT, { queuedMessages: most })
  })

  afterEach(() => {
    Object.assign(LIMIT, { queuedMessages: usual })
  })

  const HALF = LIMIT.queuedBytes / 2 / VALUE.length

  it('gets further responses only after acknowledging some, but PINGRESP immediately', async () => {
    const { store } = await open()
    const client = await connect(store, PERSISTENT)
    client.send(...numbers(100).map(get))
    await client.pinged()
    const first = await client.came('publish', HALF)
    await client.pinged()
    expect([client.publishes.length, store.stats.requests]).toEqual([HALF, HALF + 1])
    client.acknowledge(...first.slice(0, 10))
    await client.came('publish', HALF + 10)
    await client.pinged()
    expect(client.publishes.length).toBe(HALF + 10)
    client.acknowledge(...client.publishes)
    await client.came('publish', 100)
    expect(client.all('puback').map(({ messageId }) => messageId)).toEqual(numbers(100))
  })

  it('is served in order, regardless of its other packets', async () => {
    const { store } = await open()
    const client = await connect(store, PERSISTENT)
    client.send(...numbers(HALF + 2).map(get))
    await client.came('publish', HALF)
    client.send(
      { cmd: 'unsubscribe', messageId: 500, unsubscriptions: [responseTopicOf('alice')] },
      requestPacket('alice', command('SET small v'), 501, { userProperties: { __ts: NOW } }),
    )
    await client.pinged()
    expect([client.all('unsuback').length, store.stats.keys]).toEqual([0, 1])
    client.acknowledge(...client.publishes)
    await client.came('puback', HALF + 3)
    expect([client.publishes.length, store.stats.keys]).toEqual([HALF + 2, 2])
  })

  it('can disconnect before acknowledging', async () => {
    const { store } = await open()
    const heir = await TestClient.connect(store.url, 'heir')
    await heir.subscribe('wills')
    const will = { topic: 'wills', payload: Buffer.from('x'), qos: 0, retain: false } as const
    const client = await connect(store, { ...PERSISTENT, will })
    client.send(...numbers(HALF + 2).map(get), { cmd: 'disconnect', reasonCode: 0 })
    await client.came('publish', HALF)
    client.socket.end()
    await client.closed
    await eventually(() => !store.clientIds.includes('alice'))
    await heir.settled()
    expect(heir.publishes).toEqual([])
  })

  it('is still read with 1 MiB of queued requests, as acknowledgements may follow', async () => {
    const { store } = await open()
    const client = await connect(store, PERSISTENT)
    client.send(...numbers(HALF).map(get))
    await client.came('publish', HALF)
    const set = (id: number) =>
      requestPacket('alice', command(`SET other ${VALUE}`), id, { userProperties: { __ts: NOW } })
    client.send(...numbers(20).map(set))
    await client.came('publish', HALF + 4)
    await client.pinged()
    expect(client.publishes.length).toBeLessThan(HALF + 8)
    client.acknowledge(...client.publishes)
    await client.came('publish', HALF + 20)
  })

  it('loses its connection and session above the limit of queued notifications', {
    tags: 'slow',
    timeout: 60_000,
  }, async () => {
    const { store, writer } = await open()
    const client = await connect(store, PERSISTENT)
    await client.subscribe(notificationTopicOf('alice'))
    client.send(requestPacket('alice', command('KEYNOTIFY k'), 1))
    await client.came('publish')
    client.acknowledge(...client.publishes)
    await client.settled()
    const set = async () => writer.request(command('SET k v'), { timestamp: NOW })
    for (let left = most; left > 0; left -= 500) await Promise.all(numbers(Math.min(left, 500)).map(set))
    expect(store.clientIds).toContain('alice')
    await set()
    expect((await client.came('disconnect'))[0]?.reasonCode).toBe(QUOTA_EXCEEDED)
    await client.closed
    await eventually(() => !store.clientIds.includes('alice'))
    const [after, { sessionPresent }] = await TestClient.greet(store.url, 'alice', PERSISTENT)
    await after.settled()
    expect([sessionPresent, after.publishes.length]).toEqual([false, 0])
    await set()
  })

  it('keeps its connection if the session ends with it, as nothing is queued then', {
    tags: 'slow',
    timeout: 60_000,
  }, async () => {
    const { store, writer } = await open()
    const client = await connect(store)
    await client.subscribe(notificationTopicOf('alice'))
    client.send(requestPacket('alice', command('KEYNOTIFY k'), 1))
    await client.came('publish')
    const set = async () => writer.request(command('SET k v'), { timestamp: NOW })
    const more = most + 2_000
    for (let left = more; left > 0; left -= 500) await Promise.all(numbers(500).map(set))
    await client.came('publish', more + 1)
    const ids = client.publishes.map(({ messageId }) => messageId)
    expect(new Set(ids).size).toBe(more + 1)
    expect(store.clientIds).toContain('alice')
  })
})
