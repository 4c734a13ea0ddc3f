import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Violations } from '../../chaos/violations.js'
import { GlobJudge, type SeenGlobEntry } from './glob.js'
import { StoreHistory } from './store-history.js'

const GLOB = 'chaos/1*'
const KEY = 'chaos/1'
const OTHER = 'chaos/17'

const written = (at: number, key: string, value: string): readonly unknown[] => [
  'answer',
  at,
  'c9',
  'SET',
  key,
  value,
  '',
  false,
  'ok',
]
const deleted = (at: number, key: string): readonly unknown[] => [
  'answer',
  at,
  'c9',
  'DEL',
  key,
  '',
  '',
  false,
  'count',
]

/** The changes of the store: one key exists, and another is created, deleted and created again. */
const JOURNAL = [
  written(10, KEY, 'c9.0.1.0'),
  written(30, KEY, 'c9.0.2.0'),
  written(31, OTHER, 'c9.0.3.0'),
  written(32, OTHER, 'c9.0.4.0'),
  written(33, KEY, 'c9.0.5.0'),
  deleted(34, OTHER),
  written(35, OTHER, 'c9.0.6.0'),
  written(36, KEY, 'c9.0.7.0'),
]

const seen = (key: string, op: SeenGlobEntry['op'], value: string, version: number | undefined): SeenGlobEntry => ({
  key,
  op,
  value,
  version: version === undefined ? undefined : `${version}:0:StateStore`,
  connection: 0,
  connectedAt: 5,
  isLive: version === undefined || version > 10,
  source: version === 10 ? 'snapshot' : 'notification',
  isSure: true,
})

/** The entries of a correct watcher, which is live from 20. */
const SEEN: readonly SeenGlobEntry[] = [
  seen(KEY, 'set', 'c9.0.1.0', 10),
  seen(KEY, 'set', 'c9.0.2.0', 30),
  seen(OTHER, 'set', 'c9.0.3.0', 31),
  seen(OTHER, 'set', 'c9.0.4.0', 32),
  seen(KEY, 'set', 'c9.0.5.0', 33),
  seen(OTHER, 'delete', '', 34),
  seen(OTHER, 'set', 'c9.0.6.0', 35),
  seen(KEY, 'set', 'c9.0.7.0', 36),
]

const without = (...places: number[]): SeenGlobEntry[] => SEEN.filter((_, place) => !places.includes(place))
const swapped = (one: number, other: number): SeenGlobEntry[] =>
  SEEN.map((entry, place) => SEEN[place === one ? other : place === other ? one : place] ?? entry)
const changed = (at: number, change: Partial<SeenGlobEntry>): SeenGlobEntry[] =>
  SEEN.map((entry, place) => (place === at ? { ...entry, ...change } : entry))

/** The entries of faulty watchers, with the expected violations. */
const BROKEN: Record<string, readonly [entries: readonly SeenGlobEntry[], violation: RegExp]> = {
  'misses a change of an existing key': [without(1), /missed/],
  'misses the first change of a new key': [without(2), /missed/],
  'misses the first changes of a new key': [without(2, 3), /deletion of an absent key/],
  'misses a key that is created again': [[...without(5, 6), seen(OTHER, 'set', 'c9.0.6.0', 35)], /missed/],
  'shows a change twice': [[...SEEN, seen(KEY, 'set', 'c9.0.7.0', 36)], /repeated/],
  'shows changes of a key in the wrong order': [swapped(1, 4), /missed|older/],
  'shows an older change after a deletion': [swapped(3, 5), /missed|older|absent/],
  'shows a key that does not match': [[...SEEN, seen('chaos/2', 'set', 'c9.0.8.0', 40)], /does not match/],
  'shows the deletion of a key it never showed': [
    [...SEEN, seen('chaos/18', 'delete', '', 40)],
    /deletion of an absent key/,
  ],
  'shows a deletion twice': [[...SEEN.slice(0, 6), seen(OTHER, 'delete', '', 34)], /absent/],
  'shows a value that was never written': [changed(7, { value: 'c9.0.70.0' }), /never written/],
  'shows a version that is not newer': [changed(4, { version: '30:0:StateStore' }), /not newer/],
  'shows a deletion that never happened': [[...SEEN, seen(KEY, 'delete', '', 41)], /deletion that never happened/],
}

describe('GlobJudge', () => {
  const directory = mkdtempSync(join(tmpdir(), 'rx-statestore-judge-'))
  const violations = new Violations()
  const history = new StoreHistory(violations, false)

  beforeAll(async () => {
    const path = join(directory, 'journal.jsonl')
    writeFileSync(path, JOURNAL.map(record => `${JSON.stringify(record)}\n`).join(''))
    await history.read([path])
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  const judged = (entries: readonly SeenGlobEntry[]): string[] => {
    const judge = new GlobJudge(GLOB, history, new Map())
    return entries.flatMap((entry, place) => {
      if (place === 1) judge.setLive(20)
      return judge.judge(entry)
    })
  }

  it('the judge accepts a correct watcher', () => {
    expect([judged(SEEN), violations.count]).toEqual([[], 0])
  })

  it.each(Object.entries(BROKEN))('the judge rejects a watcher that %s', (_, [entries, violation]) => {
    expect(judged(entries).join()).toMatch(violation)
  })

  it('the judge accepts missing first changes if a client also watches the key separately', () => {
    expect(judged(without(2).map(entry => ({ ...entry, isSure: false })))).toEqual([])
  })
})
