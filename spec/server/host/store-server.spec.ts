import { config } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { subscribe } from '../../../src/core/diagnostics/index.js'
import type { RequestReport } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { recordWarnings } from '../../support/process-warnings.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command, textOf } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'

describe('a running store', () => {
  it('serve rejects an unknown option and suggests a known option', async () => {
    const { store } = await openStore()
    const misspelt = JSON.parse('{"keys":"kept","key":"lost"}')
    await expect(store.restart(misspelt)).rejects.toThrow('Unknown option `key` of restart: did you mean `keys`?')
    const replaced = JSON.parse('{"replaced":true}')
    await expect(store.load([], replaced)).rejects.toThrow('Unknown option `replaced` of load: did you mean `replace`?')
    expect(() => store.reload(JSON.parse('{"polcy":""}'))).toThrow('did you mean `policy`?')
  })

  it('counts keys, watches, connections, requests, errors and notifications', async () => {
    const { store, clock } = await openStore()
    const nothing = { keys: 0, watches: 0, connections: 0, requests: 0, errors: 0, notifications: 0 }
    const kept = {
      sessions: 0,
      sharedSubscriptions: 0,
      wills: 0,
      subscriptions: 0,
      retained: 0,
      retainedBytes: 0,
      bytes: 0,
      bufferedBytes: 0,
    }
    const door = { networkConnections: 0, refusedConnections: 0, refusedLogins: 0 }
    expect(store.stats).toEqual({ ...nothing, ...kept, ...door })
    const alice = await StoreClient.ready(store.url, 'alice')
    const bob = await StoreClient.ready(store.wsUrl, 'bob')
    await bob.request(command('KEYNOTIFY k'))
    await alice.request(command('SET k v PX 100'), { timestamp: NOW })
    await alice.request(command('SET other v'), { timestamp: NOW })
    await alice.request(command('nonsense'))
    await alice.request(command('GET k'), { qos: 0 })
    await alice.request(command('GET nothing'))
    const expected = { keys: 2, watches: 1, connections: 2, requests: 6, errors: 2, notifications: 1 }
    expect(store.stats).toMatchObject(expected)
    clock.advance(100)
    expect(store.stats).toMatchObject({ ...expected, keys: 1, notifications: 2 })
    await bob.disconnect()
    await eventually(() => store.stats.connections === 1)
    expect(store.stats.watches).toBe(0)
  })

  it('counts kept sessions and retained messages, and the memory that they use', async () => {
    const { store } = await openStore()
    const kept = { clean: false, properties: { sessionExpiryInterval: 60 } }
    const alice = await StoreClient.connect(store.url, 'alice', kept)
    await alice.subscribe('news')
    await alice.disconnect()
    const bob = await StoreClient.connect(store.url, 'bob')
    const before = store.stats
    expect(before).toMatchObject({ connections: 1, sessions: 2, retained: 0 })
    await bob.publish('news', 'x'.repeat(1_000), { retain: true })
    expect(store.stats).toMatchObject({ connections: 1, sessions: 2, retained: 1 })
    expect(store.stats.bufferedBytes - before.bufferedBytes).toBeGreaterThan(2_000)
  })

  it('reports every answered request, and completes the stream when it is closed', async () => {
    const { store } = await openStore()
    const reports: RequestReport[] = []
    const completed = new Promise<void>(complete => {
      store.requests$.subscribe({ next: report => reports.push(report), complete })
    })
    const alice = await StoreClient.ready(store.url, 'alice')
    const lines = ['SET k v', 'SET k w NX', 'GET k', 'GET none', 'DEL k', 'KEYNOTIFY k', 'KEYNOTIFY l STOP', 'nonsense']
    for (const line of lines) await alice.request(command(line), { timestamp: NOW })
    await alice.request(command('GET k'), { userProperties: { __protVer: '2.0' } })
    expect(reports.map(({ clientId, outcome }) => `${clientId} ${outcome}`)).toEqual([
      'alice ok',
      'alice refused',
      'alice value',
      'alice absent',
      'alice count',
      'alice ok',
      'alice count',
      'alice error',
      'alice rejected',
    ])
    expect(textOf(reports[0]?.payload ?? new Uint8Array(0))).toBe(textOf(command('SET k v')))
    expect(reports.map(({ duration }) => duration)).toEqual(reports.map(() => 0))
    await store.close()
    await completed
  })

  it('reports no duration of a request that arrived before requests were observed', async () => {
    const { store } = await openStore({ data: temporaryFolder() })
    const durations: (number | undefined)[] = []
    const alice = await StoreClient.ready(store.url, 'alice')
    // A write to the disk is answered later than the end of the call that appends it.
    const unsubscribe = subscribe('tracing:rx-statestore:server:request:end', () => {
      unsubscribe()
      store.requests$.subscribe(({ duration }) => durations.push(duration))
    })
    await alice.request(command('SET k v'), { timestamp: NOW })
    await alice.request(command('SET k w'), { timestamp: NOW })
    expect(durations).toEqual([undefined, 0])
  })

  it('still responds when a subscriber to its requests throws', async () => {
    const { store } = await openStore()
    const { onUnhandledError } = config
    onTestFinished(() => {
      config.onUnhandledError = onUnhandledError
    })
    const unhandled = new Promise(resolve => {
      config.onUnhandledError = resolve
    })
    store.requests$.subscribe(() => {
      throw new Error('not my day')
    })
    const alice = await StoreClient.ready(store.url, 'alice')
    expect((await alice.request(command('GET k'))).text).toBe('$-1\r\n')
    expect(await unhandled).toMatchObject({ message: 'not my day' })
  })

  it('accepts clients after a subscriber to its faults, audit log or events has thrown', async () => {
    const texts = recordWarnings()
    const { store } = await openStore({
      authenticate: ({ username = '' }) => {
        if (username === 'mallory') throw new Error('a fault')
        return { principal: { username } }
      },
    })
    const fail = (text: string) => (): never => {
      throw new Error(text)
    }
    store.faults$.subscribe(fail('subscriber of faults$'))
    store.audit$.subscribe(fail('subscriber of audit$'))
    onTestFinished(subscribe('rx-statestore:server:access', fail('subscriber of a channel')))
    await expect(StoreClient.connect(store.url, 'mallory', { username: 'mallory' })).rejects.toThrow('CONNACK')
    const alice = await StoreClient.ready(store.url, 'alice', { username: 'alice' })
    expect((await alice.request(command('GET k'))).text).toBe('$-1\r\n')
    for (const source of ['faults$', 'audit$', 'a channel'])
      expect(texts.filter(text => text.includes(`subscriber of ${source}`))).toHaveLength(1)
  })

  it('lists its connected clients', async () => {
    const { store } = await openStore()
    expect(store.clientIds).toEqual([])
    const alice = await StoreClient.connect(store.url, 'alice')
    await StoreClient.connect(store.wsUrl, 'bob')
    expect([...store.clientIds].sort()).toEqual(['alice', 'bob'])
    await alice.disconnect()
    await eventually(() => store.clientIds.length === 1)
    expect(store.clientIds).toEqual(['bob'])
  })

  it.each(['url', 'wsUrl'] as const)('cuts the connection of one client without DISCONNECT (%s)', async transport => {
    const { store } = await openStore()
    const alice = await StoreClient.ready(store[transport], 'alice')
    const bob = await StoreClient.ready(store[transport], 'bob')
    expect(store.cut('nobody')).toBe(false)
    expect(store.cut('alice')).toBe(true)
    expect(await alice.dismissed()).toBeUndefined()
    expect((await bob.request(command('GET k'))).text).toBe('$-1\r\n')
    expect([store.cut('alice'), store.clientIds]).toEqual([false, ['bob']])
  })
})

describe('the expiry timer', () => {
  it('a store has a single expiry timer for any number of keys', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    const set = async (key: string, px: number) => alice.request(command(`SET ${key} v PX ${px}`), { timestamp: NOW })
    await set('first', 1_000)
    for (let i = 0; i < 200; i++) await set(`key${i}`, 1_000 + (i % 3) * 1_000)
    expect([clock.scheduled, clock.pending]).toEqual([1, 1])
    clock.advance(1_000)
    expect([store.stats.keys, clock.scheduled, clock.pending]).toEqual([133, 2, 1])
    clock.advance(2_000)
    expect([store.stats.keys, clock.scheduled, clock.pending]).toEqual([0, 3, 0])
  })

  it('is rescheduled for a key that expires earlier, and cancelled when no key is left to expire', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    const send = async (line: string) => alice.request(command(line), { timestamp: NOW })
    await send('SET late v PX 9000')
    await send('SET early v PX 1000')
    expect([clock.scheduled, clock.pending]).toEqual([2, 1])
    await send('DEL early')
    expect(clock.pending).toBe(1)
    await send('SET late v')
    expect(clock.pending).toBe(0)
    clock.advance(10_000)
    expect(store.stats.keys).toBe(1)
  })

  it('is not rescheduled by requests that do not change an expiry', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    for (const line of ['SET k v PX 1000', 'GET k', 'SET other v', 'KEYNOTIFY k', 'DEL other', 'nonsense']) {
      await alice.request(command(line), { timestamp: NOW })
    }
    expect([clock.scheduled, clock.pending]).toEqual([1, 1])
  })

  it('is rescheduled if the wall clock was set back', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET k v PX 1000'), { timestamp: NOW })
    clock.jump(-30_000)
    clock.advance(1_000)
    expect([store.stats.keys, clock.pending]).toEqual([1, 1])
    clock.advance(30_000)
    expect([store.stats.keys, clock.pending]).toEqual([0, 0])
  })

  it('is late if the wall clock was set forward, so the next request removes expired keys', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('KEYNOTIFY k'))
    await alice.request(command('SET k v PX 1000'), { timestamp: NOW })
    clock.jump(1_000)
    expect((await alice.request(command('GET k'))).text).toBe('$-1\r\n')
    await alice.settled()
    expect(alice.inbox.map(({ text }) => text).at(-1)).toBe('*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n')
    expect(clock.pending).toBe(0)
  })
})
