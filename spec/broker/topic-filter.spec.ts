import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesFilter } from '../../src/broker/topic-filter.js'

/** The rules of section 4.7 level by level, as they are written there. */
function reference(filter: string, topic: string): boolean {
  const [wanted, levels] = [filter.split('/'), topic.split('/')]
  if (topic.startsWith('$') && /^[#+]/.test(filter)) return false
  for (const [i, level] of wanted.entries()) {
    if (level === '#') return true
    if (i >= levels.length || (level !== '+' && level !== levels[i])) return false
  }
  return wanted.length === levels.length
}

const name = fc.constantFrom('', 'a', 'b', 'ab', '$SYS', 'ä')
const topics = fc.array(name, { minLength: 1, maxLength: 4 }).map(levels => levels.join('/'))
const filters = fc
  .tuple(fc.array(fc.oneof(name, fc.constant('+')), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([levels, all]) => [...levels, ...(all ? ['#'] : [])].join('/'))

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
      fc.property(filters, topics, (filter, topic) => {
        expect(matchesFilter(filter, topic)).toBe(reference(filter, topic))
      }),
      { numRuns: 5_000 },
    )
  })
})
