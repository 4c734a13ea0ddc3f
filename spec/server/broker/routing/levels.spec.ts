import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import { isContinued, isTooDeep, LONGEST_HASHED, levelsOf } from '../../../../src/server/broker/routing/filter-trie.js'

/** Text of levels around the bound. */
const longTopics = fc
  .array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 2 * LONGEST_HASHED + 2 })), { minLength: 1, maxLength: 4 })
  .map(levels => levels.map(([letter, length]) => letter.repeat(length)).join('/'))

describe('levelsOf', () => {
  it('are the levels, empty ones as well', () => {
    expect(levelsOf('/a//b/')).toEqual(['', 'a', '', 'b', ''])
  })

  it('has no key that is longer than what is hashed, and loses nothing', () => {
    fc.assert(
      fc.property(longTopics, topic => {
        const keys = levelsOf(topic)
        expect(keys.every(({ length }) => length <= LONGEST_HASHED)).toBe(true)
        const text = keys.map(key => (isContinued(key) ? key.slice(1) : `/${key}`)).join('')
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
