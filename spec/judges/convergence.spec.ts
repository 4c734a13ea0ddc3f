import { describe, expect, it } from 'vitest'
import { compareGlobView, compareState, type GlobView, type KeyState } from '../../harness/judges/convergence.js'
import { globMatcher } from '../../harness/judges/glob.js'

const KEY = 'chaos/1'
const OTHER = 'chaos/17'
const ABSENT: KeyState = { op: 'absent' }
const set = (value: string, version: number): KeyState => ({ op: 'set', value, version })

describe('compareState', () => {
  it('the judge accepts the stored value and version, or the absence of the key', () => {
    expect([compareState(set('a', 7), set('a', 7)), compareState({ op: 'delete', version: 3 }, ABSENT)]).toEqual([
      undefined,
      undefined,
    ])
  })

  it.each<[what: string, shown: KeyState | undefined, held: KeyState]>([
    ['another value', set('b', 7), set('a', 7)],
    ['another version', set('a', 8), set('a', 7)],
    ['a deleted key', set('a', 7), ABSENT],
    ['the absence of a stored key', ABSENT, set('a', 7)],
    ['a watch without any entry', undefined, ABSENT],
  ])('the judge rejects %s', (_, shown, held) => {
    expect(compareState(shown, held)).toMatch(/shows .*, stored is/)
  })
})

describe('compareGlobView', () => {
  const stored = new Map([KEY, OTHER, 'chaos/2'].map(key => [key, key === KEY ? set('a', 7) : ABSENT]))
  const shows = (...entries: [string, KeyState][]) => {
    const entriesByKey = new Map(entries)
    return (key: string) => entriesByKey.get(key)
  }
  const good: GlobView = {
    isLive: true,
    last: shows([KEY, set('a', 7)]),
    map: new Map([[KEY, 'a']]),
    fits: globMatcher('chaos/1*'),
  }

  it('the judge accepts a watched glob with the stored keys', () => {
    expect(compareGlobView(good, stored)).toEqual([])
  })

  it.each<[what: string, view: GlobView]>([
    ['is stale', { ...good, isLive: false }],
    ['has no map', { ...good, map: undefined }],
    ['shows another value', { ...good, last: shows([KEY, set('b', 7)]) }],
    ['shows another version', { ...good, last: shows([KEY, set('a', 8)]) }],
    ['shows nothing', { ...good, last: shows() }],
    ['shows a deleted key', { ...good, last: shows([KEY, set('a', 7)], [OTHER, set('c', 6)]) }],
    ['has another value in the map', { ...good, map: new Map([[KEY, 'b']]) }],
    ['lacks a key in the map', { ...good, map: new Map() }],
    [
      'has a deleted key in the map',
      {
        ...good,
        map: new Map([
          [KEY, 'a'],
          [OTHER, 'c'],
        ]),
      },
    ],
    [
      'has a key in the map that was never written',
      {
        ...good,
        map: new Map([
          [KEY, 'a'],
          ['chaos/19', 'c'],
        ]),
      },
    ],
  ])('the judge rejects the view of a watched glob that %s', (_, view) => {
    expect(compareGlobView(view, stored)).toHaveLength(1)
  })
})
