import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesFilter } from '../../../../src/server/broker/routing/filter-trie.js'
import { fewFilters, fewTopics } from '../../../support/any-filter.js'
import { effort } from '../../../support/effort.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'

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
