import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, text as textCodec } from '../../../src/client/index.js'
import type { StoreServer } from '../../../src/server/index.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock, START } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { connect } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { waitForPendingWork } from './pending-work.js'

const NOW = `${START}:0:client`
const CONNACK = 0x20

/** Opens a store whose clock is stopped at the current time of day. */
async function openToday(): Promise<{ store: StoreServer; clock: ManualClock }> {
  const clock = new ManualClock(Date.now())
  return { store: (await openStore({ clock })).store, clock }
}

describe.each(['url', 'wsUrl'] as const)('a frozen store (%s)', transport => {
  it('a frozen store answers nothing, and answers everything after it resumes', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store[transport], 'alice')
    store.freeze(5_000)
    const answered: string[] = []
    const done = [1, 2, 3].map(async n => {
      await alice.request(command(`SET k ${n}`), { timestamp: NOW })
      answered.push(String(n))
    })
    await waitForPendingWork()
    clock.advance(4_999)
    await waitForPendingWork()
    expect([answered, store.stats.requests, store.clientIds]).toEqual([[], 0, ['alice']])
    clock.advance(1)
    await Promise.all(done)
    expect([answered, store.frozenUntil]).toEqual([['1', '2', '3'], undefined])
    expect((await alice.request(command('GET k'))).text).toBe('$1\r\n3\r\n')
  })

  it('a frozen store sends no notifications and expires no keys', async () => {
    const { store, clock } = await openStore()
    const alice = await StoreClient.ready(store[transport], 'alice')
    for (const key of ['k', 'other']) await alice.request(command(`KEYNOTIFY ${key}`))
    await alice.request(command('SET k v PX 100'), { timestamp: NOW })
    await alice.arrived(1)
    store.freeze(1_000)
    clock.advance(500)
    await waitForPendingWork()
    expect([alice.inbox.length, store.stats.keys]).toEqual([1, 1])
    await store.load([{ key: 'other', value: 'w' }])
    await waitForPendingWork()
    expect(alice.inbox.length).toBe(1)
    clock.advance(500)
    await alice.arrived(3)
    expect(alice.inbox.map(({ text }) => text.trim().split('\r\n').at(-1))).toEqual(['v', 'DELETE', 'w'])
  })

  it('a frozen store accepts connections, and serves them after it resumes', async () => {
    const { store } = await openStore()
    store.freeze(60_000)
    const connecting = StoreClient.ready(store[transport], 'late')
    await waitForPendingWork()
    expect(store.stats.connections).toBe(0)
    store.freeze(0)
    const late = await connecting
    expect((await late.request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it('the connections of a frozen store can be cut, and the store can be restarted and closed', async () => {
    const { store } = await openStore()
    const [alice, bob] = [
      await StoreClient.ready(store[transport], 'alice'),
      await StoreClient.ready(store[transport], 'bob'),
    ]
    store.freeze(60_000)
    expect(store.cut('alice')).toBe(true)
    expect(await alice.dismissed()).toBeUndefined()
    await store.restart({ keys: 'kept' })
    expect(await bob.dismissed()).toBeUndefined()
    expect(store.frozenUntil).toBeUndefined()
    const carol = await StoreClient.ready(store[transport], 'carol')
    store.freeze(60_000)
    const waiting = StoreClient.connect(store[transport], 'waiting').catch(error => error)
    await store.close()
    await carol.closed
    expect(await waiting).toBeInstanceOf(Error)
  })

  it('a frozen store delays a watch, which is current after the store resumes', async () => {
    const { store, clock } = await openToday()
    const panel = openClient(store[transport]).key('setPoint', number)
    const seen = record(openClient(store[transport]).key('setPoint', number).entries$)
    await seen.until(({ values }) => values.length === 1)
    store.freeze(1_000)
    const write = firstValueFrom(panel.set(21))
    await waitForPendingWork()
    expect(words(seen)).toEqual(['absent (snapshot)'])
    clock.advance(1_000)
    await write
    await seen.until(({ values }) => values.length === 2)
    expect(words(seen)).toEqual(['absent (snapshot)', 'set 21 (notification)'])
  })

  it('a client that pings a frozen store reports the loss and is current after reconnecting', {
    tags: 'slow',
  }, async () => {
    const { store } = await openToday()
    const options = { keepAlive: 1_000, connectTimeout: 200, reconnect: { initial: 20, max: 50 } }
    const client = openClient(store[transport], options)
    const [status, freshness] = [record(client.status$), record(client.key('k', textCodec).freshness$)]
    const seen = record(client.key('k', textCodec).entries$)
    await seen.until(({ values }) => values.length === 1)
    store.freeze(3_600_000)
    // Attempts also fail: the operating system accepts connections, and the store does not answer.
    await status.until(({ values }) => {
      const last = values.at(-1)
      return last?.state === 'reconnecting' && (last.attempt ?? 0) >= 2
    })
    expect(freshness.values.at(-1)).toMatchObject({ state: 'stale' })
    await store.load([{ key: 'k', value: 'changed' }])
    store.freeze(0)
    await seen.until(({ values }) => values.at(-1)?.value === 'changed')
    await freshness.until(({ values }) => values.at(-1)?.state === 'live')
    expect(store.clientIds).toEqual([client.clientId])
  })
})

describe('freezing', () => {
  const open = async (): Promise<{ store: StoreServer; clock: ManualClock }> => openStore()

  it('reports its end, and the latest call determines the end', async () => {
    const { store, clock } = await open()
    expect(store.frozenUntil).toBeUndefined()
    store.freeze(1_000)
    store.freeze(5_000)
    expect([store.frozenUntil, clock.pending]).toEqual([START + 5_000, 1])
    clock.advance(4_000)
    store.freeze(500)
    expect(store.frozenUntil).toBe(START + 4_500)
    clock.advance(500)
    expect([store.frozenUntil, clock.pending]).toEqual([undefined, 0])
  })

  it('for 0 ms ends the freeze, and is permitted when the store is not frozen', async () => {
    const { store, clock } = await open()
    store.freeze(0)
    store.freeze(1_000)
    store.freeze(0)
    expect([store.frozenUntil, clock.pending]).toEqual([undefined, 0])
  })

  it('a hundred times in a row has no effect after the freeze has ended', async () => {
    const { store } = await open()
    const alice = await StoreClient.ready(store.url, 'alice')
    for (let n = 0; n < 100; n++) {
      store.freeze(1_000)
      const answer = alice.request(command('GET k'))
      store.freeze(0)
      expect((await answer).text).toBe('$-1\r\n')
    }
  })

  it('a frozen store preserves a message that is larger than any buffer', async () => {
    const { store } = await open()
    const alice = await StoreClient.ready(store.url, 'alice')
    const value = 'x'.repeat(4_000_000)
    store.freeze(60_000)
    const answers = [`SET big ${value}`, 'GET big'].map(line => alice.request(command(line), { timestamp: NOW }))
    await waitForPendingWork()
    expect(store.stats.requests).toBe(0)
    store.freeze(0)
    const [, read] = await Promise.all(answers)
    expect(read?.text).toBe(`$4000000\r\n${value}\r\n`)
  })

  it('a client that disconnects while the store is frozen is dropped when the store resumes', async () => {
    const { store } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('raw'))
    await raw.first(1)
    store.freeze(60_000)
    raw.socket.destroy()
    await waitForPendingWork()
    expect(store.clientIds).toEqual(['raw'])
    store.freeze(0)
    await eventually(() => store.clientIds.length === 0)
  })

  it('a frozen store survives a connection that breaks before the store resumes', async () => {
    const { store } = await open()
    store.freeze(60_000)
    const raws = await Promise.all(Array.from({ length: 20 }, async () => RawSocket.open(store.url)))
    for (const raw of raws) {
      await raw.send(connect('raw'))
      raw.reset()
    }
    const patient = await RawSocket.open(store.url)
    await patient.send(connect('patient'))
    await waitForPendingWork()
    store.freeze(0)
    expect((await patient.first(1))[0]).toBe(CONNACK)
    await eventually(() => store.clientIds.length === 1)
  })

  it("a frozen store accepts at most the connections that the system's backlog allows", { tags: 'slow' }, async () => {
    const { store } = await open()
    store.freeze(60_000)
    const raws = await Promise.all(Array.from({ length: 520 }, async () => RawSocket.open(store.url)))
    let refused = 0
    for (const raw of raws) void raw.closed.then(() => refused++)
    await eventually(() => refused === 520 - 511)
    await waitForPendingWork()
    expect(refused).toBe(520 - 511)
  })

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('for %s ms is rejected', async ms => {
    const { store } = await open()
    expect(() => store.freeze(ms)).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(store.frozenUntil).toBeUndefined()
  })

  it('a closed store is rejected', async () => {
    const { store, clock } = await open()
    store.freeze(1_000)
    await store.close()
    expect(() => store.freeze(1_000)).toThrow(expect.objectContaining({ code: 'closed' }))
    expect([store.frozenUntil, clock.pending]).toEqual([undefined, 0])
  })
})
