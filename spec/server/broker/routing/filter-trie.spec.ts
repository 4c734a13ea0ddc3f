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
  it('match visits all matching filters and no others', () => {
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

  it('remove removes only the given item', () => {
    fc.assert(
      fc.property(manyFilters, manyFilters, fewTopics, (kept, removed, topic) => {
        const trie = trieOf([...kept, ...removed])
        const gone = removed.filter(filter => !kept.includes(filter))
        for (const filter of gone) trie.remove(filter, filter)
        expect(matchesOf(trie, topic)).toEqual(matchesOf(trieOf(kept), topic))
      }),
    )
  })

  it('the trie is empty after all items are removed in any order', () => {
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

  it('one filter can hold several items', () => {
    const trie = new FilterTrie<string>()
    for (const item of ['x', 'y', 'x']) trie.add('a/+', item)
    expect(matchesOf(trie, 'a/b')).toEqual(['x', 'y'])
    trie.remove('a/+', 'x')
    expect(matchesOf(trie, 'a/b')).toEqual(['y'])
  })

  it('removing an unknown item has no effect', () => {
    const trie = trieOf(['a/b/c'])
    trie.remove('a/b', 'a/b')
    trie.remove('a/b/c', 'other')
    trie.remove('x', 'x')
    expect(matchesOf(trie, 'a/b/c')).toEqual(['a/b/c'])
  })

  it('the trie can be modified during a match', () => {
    const trie = trieOf(['a', '+', '#'])
    trie.match('a', item => trie.remove(item, item))
    expect(trie.isEmpty).toBe(true)
  })

  it('levels that are split into several keys are compared completely', () => {
    const long = 'x'.repeat(3 * MAX_HASHED_LENGTH)
    const trie = trieOf([`${long}y/a`, `${long}z/a`, '+/a', `${long}/a`, `+/${long}y`])
    expect(matchesOf(trie, `${long}y/a`)).toEqual(['+/a', `${long}y/a`])
    expect(matchesOf(trie, `a/${long}y`)).toEqual([`+/${long}y`])
    expect(matchesOf(trie, `a/${long}z`)).toEqual([])
    expect(matchesOf(trie, `${long}y`)).toEqual([])
  })
})

/** Topics with levels near the length limit. */
const longTopics = fc
  .array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 2 * MAX_HASHED_LENGTH + 2 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map(levels => levels.map(([letter, length]) => letter.repeat(length)).join('/'))

describe('levelsOf', () => {
  it('the levels of a topic include empty levels', () => {
    expect(levelKeysOf('/a//b/')).toEqual(['', 'a', '', 'b', ''])
  })

  it('no key exceeds the hashed length, and the keys contain the complete topic', () => {
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
  it('a topic is too deep if it has more levels than the limit', () => {
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
  ])('the filter %s matches the topic %s: %s', (filter, topic, matches) => {
    expect(matchesFilter(filter, topic)).toBe(matches)
  })

  it('agrees with the specification for all pairs of filter and topic', () => {
    fc.assert(
      fc.property(fewFilters, fewTopics, (filter, topic) => {
        expect(matchesFilter(filter, topic)).toBe(matchesByTheRules(filter, topic))
      }),
      { numRuns: effort(5_000, 500) },
    )
  })
})
