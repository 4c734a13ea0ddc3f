import { Server } from 'node:net'
import { EMPTY, firstValueFrom, of, throwError } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { ManualClock, START } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { FakeCluster, FakeStream } from '../log/cluster/fake-stream.js'
import { waitForPendingWork } from './pending-work.js'

const NOW = `${START}:0:client`

async function openToday() {
  const clock = new ManualClock(Date.now())
  return { store: (await openStore({ clock })).store, clock }
}

describe.each(['url', 'wsUrl'] as const)('a restart (%s)', transport => {
  it('a restart ends all connections without DISCONNECT, and keeps the ports', async () => {
    const { store, clock } = await openStore()
    const { url, wsUrl } = store
    const clients = await Promise.all(['a', 'b', 'c'].map(async id => StoreClient.ready(store[transport], id)))
    clock.advance(5_000)
    await store.restart({ keys: 'kept' })
    expect(await Promise.all(clients.map(async client => client.dismissed()))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect([store.url, store.wsUrl, store.startedAt, store.clientIds]).toEqual([url, wsUrl, START + 5_000, []])
    const back = await StoreClient.ready(store[transport], 'a')
    expect((await back.request(command('GET k'))).text).toBe('$-1\r\n')
    expect(store.clients).toEqual([{ clientId: 'a', since: START + 5_000, watches: 0 }])
  })

  it('a restart keeps keys with their versions, expiry and fencing tokens', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store[transport], 'alice')
    const { version } = await alice.request(command('SET k v PX 1000'), { timestamp: NOW, fencingToken: NOW })
    await store.restart({ keys: 'kept' })
    const bob = await StoreClient.ready(store[transport], 'bob')
    expect(await bob.request(command('GET k'))).toMatchObject({ text: '$1\r\nv\r\n', version })
    expect((await bob.request(command('SET k w'), { timestamp: NOW })).text).toMatch(
      /^-ERR a fencing token is required/,
    )
    clock.advance(1_000)
    expect((await bob.request(command('GET k'))).text).toBe('$-1\r\n')
    expect(clock.pending).toBe(0)
  })

  it('a restart loses all keys if requested', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store[transport], 'alice')
    await alice.request(command('SET k v PX 1000'), { timestamp: NOW })
    await store.restart({ keys: 'lost' })
    expect([store.stats.keys, store.keyspace, clock.pending]).toEqual([0, 0, 0])
    const bob = await StoreClient.ready(store[transport], 'bob')
    expect((await bob.request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it('a restart drops sessions with their queued messages, and all watches', async () => {
    const { store } = await openStore()
    const session = { clean: false, properties: { sessionExpiryInterval: 3_600 } }
    const alice = await StoreClient.ready(store[transport], 'alice', session)
    await alice.request(command('KEYNOTIFY k'))
    await store.restart({ keys: 'kept' })
    expect(store.stats.watches).toBe(0)
    const back = await StoreClient.connect(store[transport], 'alice', session)
    const bob = await StoreClient.ready(store[transport], 'bob')
    await bob.request(command('SET k v'), { timestamp: NOW })
    await waitForPendingWork()
    expect(back.inbox).toEqual([])
  })

  it('a restart publishes no last wills', async () => {
    const { store } = await openStore()
    const payload = command('SET will v')
    const properties = { responseTopic: 'nobody', correlationData: Buffer.from('x'), userProperties: { __ts: NOW } }
    const topic = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke'
    await StoreClient.connect(store[transport], 'mortal', {
      will: { topic, payload, qos: 1, retain: false, properties },
    })
    await store.restart({ keys: 'kept' })
    await waitForPendingWork()
    expect(store.stats).toMatchObject({ keys: 0, requests: 0 })
  })

  it.each([
    ['kept', 'set 1 (snapshot), set 2 (notification)'],
    ['lost', 'set 1 (snapshot), absent (resync), set 2 (notification)'],
  ] as const)('a client reconnects after a restart with keys %s, and its watch shows %j', async (keys, expected) => {
    const { store } = await openToday()
    const client = openClient(store[transport])
    const key = client.key('k', text)
    await firstValueFrom(key.set('1'))
    const [seen, status, freshness] = [record(key.entries$), record(client.status$), record(key.freshness$)]
    await seen.until(({ values }) => values.length === 1)
    await store.restart({ keys })
    await freshness.until(
      ({ values }) => values.at(-1)?.state === 'live' && values.some(({ state }) => state === 'stale'),
    )
    await firstValueFrom(openClient(store[transport]).key('k', text).set('2'))
    await seen.until(({ values }) => values.at(-1)?.value === '2')
    expect(words(seen).join(', ')).toBe(expected)
    expect(freshness.values.map(({ state }) => state).slice(-4)).toEqual(['live', 'stale', 'resyncing', 'live'])
    expect(status.values.map(({ state }) => state)).toContain('reconnecting')
    expect(status.values.at(-1)).toEqual({ state: 'connected', url: store[transport] })
    expect(record(client.stats$).values).toMatchObject([{ keys: 1, synced: 1 }])
  })
})

describe('calls of restart', () => {
  it('a restart resets the counters, and requests are still reported after it', async () => {
    const { store } = await openStore()
    const requests = record(store.requests$)
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('GET k'))
    await store.restart({ keys: 'kept' })
    expect(store.stats).toMatchObject({ requests: 0, connections: 0 })
    const bob = await StoreClient.ready(store.url, 'bob')
    await bob.request(command('GET k'))
    expect([store.stats.requests, requests.values.length, requests.completed]).toEqual([1, 2, false])
  })

  it('concurrent restarts run one after another', async () => {
    const { store } = await openStore()
    const { url } = store
    await Promise.all((['kept', 'lost', 'kept'] as const).map(async keys => store.restart({ keys })))
    const alice = await StoreClient.ready(url, 'alice')
    expect((await alice.request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it('a store can be closed during a restart', async () => {
    const { store } = await openStore()
    const restarted = store.restart({ keys: 'kept' })
    await store.close()
    await restarted
    await expect(StoreClient.connect(store.url, 'late')).rejects.toThrow()
    await expect(store.restart({ keys: 'kept' })).rejects.toMatchObject({ code: 'closed' })
  })

  it('a restart rejects if a port is in use, and can then be retried', async () => {
    const { store } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET k v'), { timestamp: NOW })
    const listen = vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (this: Server) {
      process.nextTick(() => this.emit('error', Object.assign(new Error('taken'), { code: 'EADDRINUSE' })))
      return this
    })
    onTestFinished(() => listen.mockRestore())
    await expect(store.restart({ keys: 'kept' })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await expect(StoreClient.connect(store.url, 'early')).rejects.toThrow()
    expect([store.stats.connections, store.stats.keys, store.isAccepting]).toEqual([0, 1, false])
    await expect(store.load([{ key: 'l', value: 'w' }])).rejects.toMatchObject({
      code: 'closed',
      message: 'Nothing was loaded: the store stopped before logging the request; retry when it serves again',
    })
    await store.restart({ keys: 'kept' })
    expect(store.isAccepting).toBe(true)
    const bob = await StoreClient.ready(store.url, 'bob')
    expect((await bob.request(command('GET k'))).text).toBe('$1\r\nv\r\n')
  })

  it('a node reports a failed restart, and repeats it until the node runs', async () => {
    const stream = Object.assign(new FakeStream(new FakeCluster(systemClock), 1024 * 1024), { close: () => EMPTY })
    const log = { name: 'spec', settings: { nodeId: 'a', stallTimeout: 60_000 }, connect: () => of(stream) }
    const { store, clock } = await openStore({ log })
    const storage = record(store.storage$)
    onTestFinished(() => void vi.restoreAllMocks())
    const error = new Error('the stream does not exist')
    const snapshots = vi
      .spyOn(stream, 'snapshots')
      .mockReturnValueOnce(throwError(() => error))
      .mockReturnValueOnce(throwError(() => error))
    await expect(store.restart({ keys: 'kept' })).rejects.toBe(error)
    expect([store.isAccepting, storage.values]).toEqual([false, [{ state: 'broken', error }]])
    clock.advance(5_000)
    await expect.poll(() => storage.values).toHaveLength(2)
    expect(store.isAccepting).toBe(false)
    clock.advance(5_000)
    await expect.poll(() => store.isAccepting).toBe(true)
    expect([store.storage.state, snapshots.mock.calls.length]).toEqual(['kept', 3])
  })

  it.each([undefined, null, {}, { keys: 'some' }])('a restart rejects the options %j', async options => {
    const { store } = await openStore()
    await expect(Reflect.apply(store.restart, store, [options])).rejects.toMatchObject({ code: 'argument' })
  })
})
