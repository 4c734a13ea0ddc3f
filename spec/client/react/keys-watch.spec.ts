import { BehaviorSubject, NEVER, type Observable, of, Subject } from 'rxjs'
import { expect, it } from 'vitest'
import { ConnectionLostError, type Freshness, type Key, text } from '../../../src/client/index.js'
import { KeysWatch } from '../../../src/client/react/use-keys.js'
import { type Answer, fakeStore } from '../../support/operator-session.js'

const OK: Answer = { payload: '+OK\r\n' }

/** Opens a client whose store has the given values, and returns a watch of all their keys. */
function open(values: Map<string, string>, registered: Observable<Answer> = of(OK)) {
  const { store, session, clock } = fakeStore(({ verb, key }) =>
    verb === 'GET' ? of(values.get(key) ?? '$-1') : registered,
  )
  const keys: readonly Key<string>[] = Array.from(values.keys(), name => store.key(name, text))
  return { session, clock, watch: new KeysWatch(keys) }
}

function subscribe(watch: KeysWatch<string>) {
  const snapshots: string[] = []
  const note = (): void => {
    const { values, freshness } = watch.read()
    snapshots.push([...Array.from(values, pair => pair.join('=')), freshness.state].join(' '))
  }
  const leave = watch.subscribe(note)
  return { snapshots, leave }
}

const afterDeferredTasks = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

it('an empty list of keys is live, without values or error', () => {
  const watch = new KeysWatch<number>([])
  const snapshots: unknown[] = []
  const stop = watch.subscribe(() => snapshots.push(watch.read()))
  expect(snapshots).toEqual([{ values: new Map(), freshness: { state: 'live' }, error: undefined }])
  stop()
})

it('a list of keys becomes live together with the values of all keys', () => {
  const { clock, watch } = open(new Map(Object.entries({ a: 'one', b: 'two' })))
  const { snapshots } = subscribe(watch)
  expect(snapshots).toEqual(['a=one b=two live'])
  clock.advance(1)
  expect({ snapshots, timers: clock.pending }).toEqual({ snapshots: ['a=one b=two live'], timers: 0 })
})

it('after a reconnect, a list becomes live together with the values changed meanwhile', () => {
  const values = new Map([['a', 'one']])
  const registered = new Subject<Answer>()
  const { session, watch } = open(values, registered)
  const { snapshots } = subscribe(watch)
  registered.next(OK)
  session.disconnect(new ConnectionLostError())
  values.set('a', 'two')
  session.connect()
  registered.next(OK)
  expect(snapshots.slice(1)).toEqual(['a=one live', 'a=one stale', 'a=one resyncing', 'a=two live'])
})

it('a list that is subscribed again has no value of a key that was deleted meanwhile', async () => {
  const values = new Map([['a', 'one']])
  const { clock, watch } = open(values)
  const first = subscribe(watch)
  clock.advance(1)
  first.leave()
  await afterDeferredTasks()
  values.delete('a')
  const { snapshots } = subscribe(watch)
  clock.advance(1)
  expect(snapshots.at(-1)).toBe('live')
})

it('a list notifies once when all keys become stale, and once when all are live again', () => {
  const registered = new Subject<Answer>()
  const { session, watch } = open(new Map(Object.entries({ a: 'one', b: 'two', c: 'three' })), registered)
  const { snapshots } = subscribe(watch)
  registered.next(OK)
  session.disconnect(new ConnectionLostError())
  session.connect()
  registered.next(OK)
  expect(snapshots.map(snapshot => snapshot.split(' ').at(-1))).toEqual([
    'connecting',
    'live',
    'stale',
    'resyncing',
    'live',
  ])
})

it('a list has an entry for each of two keys with the same display name', () => {
  const { store, clock } = fakeStore(({ verb, key }) => of(verb === 'GET' ? String(key.length) : OK))
  const watch = new KeysWatch([store.key('0xFF', text), store.key(Uint8Array.of(0xff), text)])
  subscribe(watch)
  clock.advance(1)
  expect(Array.from(watch.read().values)).toEqual([
    ['0xFF', '4'],
    ['0xFF\udc00', '1'],
  ])
})

it.each([100, 1_000, 4_000])('the work of a reconnect is a constant per key: %i keys', count => {
  let reads = 0
  const freshness = (state: 'live' | 'resyncing'): Freshness => ({
    get state() {
      reads++
      return state
    },
  })
  const { store } = fakeStore(() => NEVER)
  const all = Array.from({ length: count }, (_, i) => {
    const freshness$ = new BehaviorSubject(freshness('live'))
    const key = Object.create(store.key(`k${i}`, text), {
      freshness$: { value: freshness$ },
      entries$: { value: NEVER },
    })
    return { key, freshness$ }
  })
  const { snapshots } = subscribe(new KeysWatch(all.map(({ key }) => key)))
  reads = 0
  for (const state of ['resyncing', 'live'] as const)
    for (const { freshness$ } of all) freshness$.next(freshness(state))
  expect(snapshots).toEqual(['live', 'resyncing', 'live'])
  expect(reads / count).toBeLessThan(100)
})
