import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Complaints } from '../../chaos/complaints.js'
import { GlobJudge, type SeenOfGlob } from './glob.js'
import { History } from './history.js'

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

/** What the store did: a key that is there, one that comes, goes and comes back. */
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

const seen = (key: string, op: SeenOfGlob['op'], value: string, version: number | undefined): SeenOfGlob => ({
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

/** What a watcher sees that keeps all promises: live at 20. */
const SEEN: readonly SeenOfGlob[] = [
  seen(KEY, 'set', 'c9.0.1.0', 10),
  seen(KEY, 'set', 'c9.0.2.0', 30),
  seen(OTHER, 'set', 'c9.0.3.0', 31),
  seen(OTHER, 'set', 'c9.0.4.0', 32),
  seen(KEY, 'set', 'c9.0.5.0', 33),
  seen(OTHER, 'delete', '', 34),
  seen(OTHER, 'set', 'c9.0.6.0', 35),
  seen(KEY, 'set', 'c9.0.7.0', 36),
]

const without = (...places: number[]): SeenOfGlob[] => SEEN.filter((_, place) => !places.includes(place))
const swapped = (one: number, other: number): SeenOfGlob[] =>
  SEEN.map((entry, place) => SEEN[place === one ? other : place === other ? one : place] ?? entry)
const changed = (at: number, change: Partial<SeenOfGlob>): SeenOfGlob[] =>
  SEEN.map((entry, place) => (place === at ? { ...entry, ...change } : entry))

/** Watchers that are broken, and what they are told. */
const BROKEN: Record<string, readonly [entries: readonly SeenOfGlob[], complaint: RegExp]> = {
  'loses a step of a key that is there': [without(1), /not told/],
  'loses the first step of a key that comes': [without(2), /not told/],
  'loses the first steps of a key that comes': [without(2, 3), /not there has gone/],
  'loses a key that comes back': [[...without(5, 6), seen(OTHER, 'set', 'c9.0.6.0', 35)], /not told/],
  'tells a step twice': [[...SEEN, seen(KEY, 'set', 'c9.0.7.0', 36)], /repeated/],
  'tells steps of a key in the wrong order': [swapped(1, 4), /not told|older/],
  'goes back after a key has gone': [swapped(3, 5), /not told|older|gone/],
  'tells of a key that does not fit': [[...SEEN, seen('chaos/2', 'set', 'c9.0.8.0', 40)], /does not fit/],
  'tells that a key went which never came': [[...SEEN, seen('chaos/18', 'delete', '', 40)], /not there has gone/],
  'tells twice that a key went': [[...SEEN.slice(0, 6), seen(OTHER, 'delete', '', 34)], /gone/],
  'tells a value that nobody wrote': [changed(7, { value: 'c9.0.70.0' }), /never written/],
  'tells a version that is not newer': [changed(4, { version: '30:0:StateStore' }), /not newer/],
  'tells a deletion that was none': [[...SEEN, seen(KEY, 'delete', '', 41)], /deletion where there was none/],
}

describe('the judge of globs under chaos', () => {
  const directory = mkdtempSync(join(tmpdir(), 'rx-statestore-judge-'))
  const complaints = new Complaints()
  const history = new History(complaints, false)

  beforeAll(async () => {
    const path = join(directory, 'journal.jsonl')
    writeFileSync(path, JOURNAL.map(record => `${JSON.stringify(record)}\n`).join(''))
    await history.read([path])
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  const judged = (entries: readonly SeenOfGlob[]): string[] => {
    const judge = new GlobJudge(GLOB, history, new Map())
    return entries.flatMap((entry, place) => {
      if (place === 1) judge.live(20)
      return judge.judge(entry)
    })
  }

  it('has nothing against one that keeps all promises', () => {
    expect([judged(SEEN), complaints.count]).toEqual([[], 0])
  })

  it.each(Object.entries(BROKEN))('objects to one that %s', (_, [entries, complaint]) => {
    expect(judged(entries).join()).toMatch(complaint)
  })

  it('allows that first steps are missing of one that watches the key otherwise, too', () => {
    expect(judged(without(2).map(entry => ({ ...entry, isSure: false })))).toEqual([])
  })
})
