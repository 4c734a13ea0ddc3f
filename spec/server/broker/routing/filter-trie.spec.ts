import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import {
  FilterTrie,
  isContinuation,
  isTooDeep,
  levelKeysOf,
  MAX_HASHED_LENGTH,
  matchesFilter,
} from '../../../../src/server/broker/routing/filter-trie.js'
import { fewFilters, fewTopics } from '../../../support/any-filter.js'
import { effort } from '../../../support/effort.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'

const matchesOf = (trie: FilterTrie<string>, topic: string): string[] => {
  const found: string[] = []
  trie.match(topic, item => found.push(item))
  return found.sort()
}

const trieOf = (filters: Iterable<string>): FilterTrie<string> => {
  const trie = new FilterTrie<string>()
  for (const filter of filters) trie.add(filter, filter)
  return trie
}

const manyFilters = fc.array(fewFilters, { maxLength: 12 })

describe('FilterTrie', () => {
  it('finds the filters that match, and no others', () => {
    fc.assert(
      fc.property(manyFilters, fewTopics, (filters, topic) => {
        const expected = [...new Set(filters)].filter(filter => matchesByTheRules(filter, topic)).sort()
        expect(matchesOf(trieOf(filters), topic)).toEqual(expected)
        expect(filters.filter(filter => matchesFilter(filter, topic)).every(filter => expected.includes(filter))).toBe(
          true,
        )
      }),
      { numRuns: effort(3_000, 300) },
    )
  })

  it('forgets what is removed, and nothing else', () => {
    fc.assert(
      fc.property(manyFilters, manyFilters, fewTopics, (kept, removed, topic) => {
        const trie = trieOf([...kept, ...removed])
        const gone = removed.filter(filter => !kept.includes(filter))
        for (const filter of gone) trie.remove(filter, filter)
        expect(matchesOf(trie, topic)).toEqual(matchesOf(trieOf(kept), topic))
      }),
    )
  })

  it('is empty when all is removed, in whatever order', () => {
    const shuffled = manyFilters.chain(filters =>
      fc.tuple(fc.constant(filters), fc.shuffledSubarray(filters, { minLength: filters.length })),
    )
    fc.assert(
      fc.property(shuffled, ([filters, order]) => {
        const trie = trieOf(filters)
        for (const filter of order) trie.remove(filter, filter)
        expect(trie.isEmpty).toBe(true)
      }),
    )
  })

  it('keeps several items under one filter', () => {
    const trie = new FilterTrie<string>()
    for (const item of ['x', 'y', 'x']) trie.add('a/+', item)
    expect(matchesOf(trie, 'a/b')).toEqual(['x', 'y'])
    trie.remove('a/+', 'x')
    expect(matchesOf(trie, 'a/b')).toEqual(['y'])
  })

  it('does not mind the removal of what it does not have', () => {
    const trie = trieOf(['a/b/c'])
    trie.remove('a/b', 'a/b')
    trie.remove('a/b/c', 'other')
    trie.remove('x', 'x')
    expect(matchesOf(trie, 'a/b/c')).toEqual(['a/b/c'])
  })

  it('may be changed while it is asked', () => {
    const trie = trieOf(['a', '+', '#'])
    trie.match('a', item => trie.remove(item, item))
    expect(trie.isEmpty).toBe(true)
  })

  it('compares levels that are too long for one key to the end', () => {
    const long = 'x'.repeat(3 * MAX_HASHED_LENGTH)
    const trie = trieOf([`${long}y/a`, `${long}z/a`, '+/a', `${long}/a`, `+/${long}y`])
    expect(matchesOf(trie, `${long}y/a`)).toEqual(['+/a', `${long}y/a`])
    expect(matchesOf(trie, `a/${long}y`)).toEqual([`+/${long}y`])
    expect(matchesOf(trie, `a/${long}z`)).toEqual([])
    expect(matchesOf(trie, `${long}y`)).toEqual([])
  })
})

/** Text of levels around the bound. */
const longTopics = fc
  .array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 2 * MAX_HASHED_LENGTH + 2 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map(levels => levels.map(([letter, length]) => letter.repeat(length)).join('/'))

describe('levelsOf', () => {
  it('are the levels, empty ones as well', () => {
    expect(levelKeysOf('/a//b/')).toEqual(['', 'a', '', 'b', ''])
  })

  it('has no key that is longer than what is hashed, and loses nothing', () => {
    fc.assert(
      fc.property(longTopics, topic => {
        const keys = levelKeysOf(topic)
        expect(keys.every(({ length }) => length <= MAX_HASHED_LENGTH)).toBe(true)
        const text = keys.map(key => (isContinuation(key) ? key.slice(1) : `/${key}`)).join('')
        expect(text).toBe(`/${topic}`)
      }),
      { numRuns: 50 },
    )
  })
})

describe('isTooDeep', () => {
  it('is a topic with more levels than there may be', () => {
    const levels = (count: number): string => Array.from({ length: count }, () => 'a').join('/')
    expect(isTooDeep(levels(LIMIT.topicLevels))).toBe(false)
    expect(isTooDeep(levels(LIMIT.topicLevels + 1))).toBe(true)
    expect(isTooDeep('/'.repeat(LIMIT.topicLevels - 1))).toBe(false)
    expect(isTooDeep('/'.repeat(LIMIT.topicLevels))).toBe(true)
    expect(isTooDeep('a'.repeat(60_000))).toBe(false)
  })
})

describe('matchesFilter', () => {
  it.each([
    ['sport/tennis/player1/#', 'sport/tennis/player1', true],
    ['sport/tennis/player1/#', 'sport/tennis/player1/ranking', true],
    ['sport/#', 'sport', true],
    ['#', 'sport/tennis', true],
    ['sport/tennis/+', 'sport/tennis/player1', true],
    ['sport/tennis/+', 'sport/tennis/player1/ranking', false],
    ['sport/+', 'sport', false],
    ['sport/+', 'sport/', true],
    ['+/+', '/finance', true],
    ['/+', '/finance', true],
    ['+', '/finance', false],
    ['#', '$SYS/monitor', false],
    ['+/monitor', '$SYS/monitor', false],
    ['$SYS/#', '$SYS/monitor', true],
    ['sport/tennis', 'sport/tennis2', false],
    ['sport/tennis2', 'sport/tennis', false],
  ])('says whether %s matches %s: %s', (filter, topic, matches) => {
    expect(matchesFilter(filter, topic)).toBe(matches)
  })

  it('follows the rules for whatever there is', () => {
    fc.assert(
      fc.property(fewFilters, fewTopics, (filter, topic) => {
        expect(matchesFilter(filter, topic)).toBe(matchesByTheRules(filter, topic))
      }),
      { numRuns: effort(5_000, 500) },
    )
  })
})
