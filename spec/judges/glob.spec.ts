import { describe, expect, it } from 'vitest'
import { History } from '../../harness/judges/history.js'
import { type ReceivedEntry, SubscriberJudge } from '../../harness/judges/subscriber.js'

const GLOB = 'chaos/1*'
const KEY = 'chaos/1'
const OTHER = 'chaos/17'
const LIVE_SINCE = 20

const versionOf = (at: number): string => `${at}:0:StateStore`
const set = (at: number, key: string, value: string) => ({ at, key, op: 'set' as const, value })
const deletion = (at: number, key: string) => ({ at, key, op: 'delete' as const, value: undefined })

/** The store's changes: one key exists, and another is created, deleted and created again. */
const CHANGES = [
  set(10, KEY, 'a'),
  set(30, KEY, 'b'),
  set(31, OTHER, 'c'),
  set(32, OTHER, 'd'),
  set(33, KEY, 'e'),
  deletion(34, OTHER),
  set(35, OTHER, 'f'),
  set(36, KEY, 'g'),
]

const received = ({ at, key, op, value }: (typeof CHANGES)[number]): ReceivedEntry => ({
  key,
  op,
  value,
  version: versionOf(at),
  connection: 0,
  connectedAt: 5,
  isLive: at > LIVE_SINCE,
  source: at < LIVE_SINCE ? 'snapshot' : 'notification',
  isOnlyWatcher: true,
})

/** The entries of a correct watcher. */
const RECEIVED: readonly ReceivedEntry[] = CHANGES.map(received)

const without = (...places: number[]): ReceivedEntry[] => RECEIVED.filter((_, place) => !places.includes(place))
const swapped = (one: number, other: number): ReceivedEntry[] =>
  RECEIVED.map((entry, place) => RECEIVED[place === one ? other : place === other ? one : place] ?? entry)
const changed = (at: number, change: Partial<ReceivedEntry>): ReceivedEntry[] =>
  RECEIVED.map((entry, place) => (place === at ? { ...entry, ...change } : entry))

/** The entries of faulty watchers, with the expected violations. */
const BROKEN: Record<string, readonly [entries: readonly ReceivedEntry[], violation: RegExp]> = {
  'misses a change of an existing key': [without(1), /not emitted/],
  'misses the first change of a new key': [without(2), /not emitted/],
  'misses the first changes of a new key': [without(2, 3), /an absent key was removed/],
  'misses a key that is created again': [[...without(5, 6), received(set(35, OTHER, 'f'))], /not emitted/],
  'shows a change twice': [[...RECEIVED, received(set(36, KEY, 'g'))], /not newer/],
  'shows changes of a key in the wrong order': [swapped(1, 4), /not emitted|not newer/],
  'shows an older change after a deletion': [swapped(3, 5), /not emitted|not newer|absent/],
  'shows a key that does not match': [[...RECEIVED, received(set(40, 'chaos/2', 'h'))], /does not match/],
  'shows the deletion of a key it never showed': [
    [...RECEIVED, received(deletion(40, 'chaos/18'))],
    /an absent key was removed/,
  ],
  'shows a deletion twice': [[...RECEIVED.slice(0, 6), received(deletion(34, OTHER))], /absent/],
  'shows a value that was never written': [changed(7, { value: 'z' }), /never happened/],
  'shows the version of another change': [changed(4, { version: versionOf(30) }), /never happened/],
  'shows a deletion that never happened': [[...RECEIVED, received(deletion(41, KEY))], /never happened/],
}

describe('SubscriberJudge', () => {
  const judged = (entries: readonly ReceivedEntry[]): string[] => {
    const history = new History()
    for (const change of CHANGES) history.record({ ...change, version: versionOf(change.at) }, change.at)
    const judge = new SubscriberJudge(history, GLOB)
    return entries.flatMap((entry, place) => {
      if (place === 1) judge.setLive(LIVE_SINCE)
      return judge.judge(entry)
    })
  }

  it('the judge accepts a correct watcher', () => {
    expect(judged(RECEIVED)).toEqual([])
  })

  it.each(Object.entries(BROKEN))('the judge rejects a watcher that %s', (_, [entries, violation]) => {
    expect(judged(entries).join()).toMatch(violation)
  })

  it('the judge accepts missing first changes if a client also watches the key separately', () => {
    expect(judged(without(2).map(entry => ({ ...entry, isOnlyWatcher: false })))).toEqual([])
  })
})
