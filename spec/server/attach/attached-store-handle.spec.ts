import { EMPTY, of } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { type Clock, systemClock } from '../../../src/core/util/clock.js'
import { type AttachOptions, attach, type DumpLine } from '../../../src/server/index.js'
import type { SharedLog } from '../../../src/server/log/cluster/settings.js'
import { eventually } from '../../support/eventually.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { FakeCluster, FakeStream } from '../log/cluster/fake-stream.js'

const EVENTS = 'events/+/disconnected'

/** Opens a store with a manual clock, which `wait` advances. */
async function openAttachedStore(options: AttachOptions = {}) {
  const broker = await openBroker()
  const url = `mqtt://127.0.0.1:${broker.port}`
  let later = 0
  const clock: Clock = {
    ...systemClock,
    now: () => Date.now() + later,
    monotonic: () => performance.now() + later,
  }
  const store = await openAttached(url, { clock, ...options })
  const wait = (ms: number): void => {
    later += ms
  }
  return { url, store, clock, wait }
}

const idsOf = (clients: Iterable<{ readonly clientId: string }>): readonly string[] =>
  Array.from(clients, ({ clientId }) => clientId)

describe('an attached store', () => {
  it("the URL of an attached store is the broker's URL without user name and password", async () => {
    const store = await attach('mqtt://user:secret@localhost:1/')
    onTestFinished(async () => store.close())
    expect(store.url).toBe('mqtt://localhost:1')
    const other = await attach('ws://localhost:1/mqtt')
    onTestFinished(async () => other.close())
    expect(other.url).toBe('ws://localhost:1/mqtt')
  })

  it('lists clients with a watch or a recent request, with the time of their first one', async () => {
    const { url, store, clock, wait } = await openAttachedStore()
    const before = clock.now()
    const [alice, bob] = [await StoreClient.ready(url, 'alice'), await StoreClient.ready(url, 'bob')]
    await alice.request(command('KEYNOTIFY k'))
    await bob.request(command('GET k'))
    expect(store.clients).toEqual([
      { clientId: 'alice', since: expect.any(Number), watches: 1 },
      { clientId: 'bob', since: expect.any(Number), watches: 0 },
    ])
    const [first] = store.clients
    expect(first?.since).toBeGreaterThanOrEqual(before)
    expect([Array.from(store.watchedBy('alice')), Array.from(store.watchedBy('bob'))]).toEqual([
      [new Uint8Array([0x6b])],
      [],
    ])
    expect(Array.from(store.watchedBy('nobody'))).toEqual([])
    wait(60_001)
    expect(idsOf(store.clients)).toEqual(['alice'])
    await bob.request(command('GET k'))
    expect(idsOf(store.clients)).toEqual(['alice', 'bob'])
    await alice.request(command('KEYNOTIFY k STOP'))
    wait(60_001)
    expect(store.clients).toEqual([])
  })

  it('removes a client from the list as soon as the broker reports its disconnect', async () => {
    const { url, store, wait } = await openAttachedStore({ disconnectEvents: EVENTS })
    const alice = await StoreClient.ready(url, 'alice')
    await alice.request(command('GET k'))
    wait(10_000)
    await alice.publish('events/alice/disconnected', '')
    await eventually(() => store.clients.length === 0)
  })

  it('loads a dump and notifies watchers', async () => {
    const { url, store } = await openAttachedStore()
    const seen = record(openClient(url).key('a', text).value$)
    await seen.until(({ values }) => values.length > 0)
    const result = await store.load([{ key: 'a', value: '1' }])
    expect(result).toEqual({ loaded: 1, versionsKept: 0, expired: 0, deleted: 0 })
    await seen.until(({ values }) => values.at(-1) === '1')
    await store.load([{ key: 'b', value: '2' }], { replace: true })
    expect(Array.from(store.dump(), ({ key }) => key)).toEqual(['b'])
    expect(store.peek('b')?.value).toEqual(new Uint8Array([0x32]))
    expect(store.keyspace).toBeGreaterThan(0)
    const wrongOptions: object = { replce: true }
    await expect(store.load([], { ...wrongOptions })).rejects.toMatchObject({ code: 'argument' })
    await expect(store.load(['nonsense'])).rejects.toMatchObject({ code: 'argument' })
  })

  it('has no keys and rejects a load while it is on standby or closed', async () => {
    const { url } = await openAttachedStore()
    const store = await attach(url, { reconnect: { initial: 20, max: 200 } })
    onTestFinished(async () => store.close())
    await expect(store.load([])).rejects.toMatchObject({
      code: 'closed',
      message: expect.stringMatching(/is not serving yet/),
    })
    await untilState(store, 'standby')
    const { startedAt, keyspace, drift, cluster, clients } = store
    expect([startedAt, keyspace, drift, cluster, clients]).toEqual([undefined, 0, 0, undefined, []])
    expect([store.peek('k'), [...store.watchedBy('alice')], [...store.dump()]]).toEqual([undefined, [], []])
    await expect(store.load([])).rejects.toMatchObject({
      code: 'closed',
      message: expect.stringMatching(/on standby/),
    })
    await store.close()
    await expect(store.load([])).rejects.toMatchObject({ code: 'closed', message: expect.stringMatching(/is closed/) })
  })

  it('loads nothing if it stops serving before the dump is complete', async () => {
    const { store } = await openAttachedStore()
    let finish = (): void => undefined
    async function* lines(): AsyncGenerator<DumpLine> {
      yield { key: 'a', value: '1' }
      await new Promise<void>(resolve => {
        finish = resolve
      })
    }
    const loading = store.load(lines())
    await store.close()
    finish()
    await expect(loading).rejects.toMatchObject({
      code: 'closed',
      message: expect.stringMatching(/nothing was loaded/),
    })
  })

  it('reports an unknown outcome if it stops serving during a load', { tags: 'slow' }, async () => {
    const stream = new FakeStream(new FakeCluster(systemClock), 1024 * 1024)
    const log: SharedLog = {
      name: 'spec',
      settings: { nodeId: 'a', stallTimeout: 60_000 },
      connect: () => of(Object.assign(stream, { close: () => EMPTY })),
    }
    const { store } = await openAttachedStore({ log })
    expect(store.cluster).toMatchObject({ name: 'spec', nodeId: 'a' })
    await store.load([{ key: 'a', value: '1' }])
    stream.faults.isDeaf = true
    const { published } = stream
    const loading = store.load([{ key: 'a', value: '2' }])
    await eventually(() => stream.published > published)
    const outcome = expect(loading).rejects.toMatchObject({
      code: 'outcome-unknown',
      message: expect.stringMatching(/a load is unknown/),
    })
    await store.close()
    await outcome
  })
})
