import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GroupPattern } from '../../../src/pubsub/hub/permissions.js'
import { effort } from '../../support/effort.js'

const matches = (pattern: string, name: string) => GroupPattern.parse(pattern)?.matches(name)

/** Matches recursively, as the documentation describes it. Takes exponential time on long input. */
function matchesNaively(pattern: string, name: string): boolean {
  if (pattern === '') return name === ''
  const [first = '', second = ''] = pattern
  if (first === '\\' && '\\*?'.includes(second))
    return name[0] === second && matchesNaively(pattern.slice(2), name.slice(1))
  if (pattern.startsWith('**')) {
    return matchesNaively(pattern.slice(2), name) || (name !== '' && matchesNaively(pattern, name.slice(1)))
  }
  if (first === '*')
    return (
      matchesNaively(pattern.slice(1), name) ||
      (name !== '' && name[0] !== '.' && matchesNaively(pattern, name.slice(1)))
    )
  if (first === '?') return name !== '' && name[0] !== '.' && matchesNaively(pattern.slice(1), name.slice(1))
  return name[0] === first && matchesNaively(pattern.slice(1), name.slice(1))
}

describe('GroupPattern', () => {
  it.each([
    ['chat-*', 'chat-1', true],
    ['chat-*', 'chat-', true],
    ['chat-*', 'chat.1', false],
    ['chat-*', 'xchat-1', false],
    ['clientA.*', 'clientA.alpha', true],
    ['clientA.*', 'clientA.alpha.room1', false],
    ['clientA.**', 'clientA.alpha.room1', true],
    ['clientA.**', 'clientB.anything', false],
    ['clientA.rooms.?1', 'clientA.rooms.a1', true],
    ['clientA.rooms.?1', 'clientA.rooms.1', false],
    ['clientA.rooms.?1', 'clientA.rooms.a.1', false],
    ['literal\\*star', 'literal*star', true],
    ['literal\\*star', 'literalXstar', false],
    ['a\\\\b', 'a\\b', true],
    ['a\\b', 'a\\b', true],
    ['?', '😀', true],
    ['**a*', 'b.c.a', true],
    ['*.**.?', 'a..b', true],
  ])('the pattern %s against the name %s matches: %s', (pattern, name, expected) => {
    expect(matches(pattern, name)).toBe(expected)
  })

  it('matching agrees with a literal implementation of the documentation', () => {
    const word = (characters: string[], maxLength: number) =>
      fc.array(fc.constantFrom(...characters), { maxLength }).map(parts => parts.join(''))
    fc.assert(
      fc.property(
        word(['a', 'b', '.', '?', '*', '**', '\\*', '\\\\', '\\?'], 7),
        word(['a', 'b', '.', '*', '\\', '?'], 9),
        (pattern, name) => {
          const parsed = GroupPattern.parse(pattern)
          fc.pre(parsed !== undefined)
          expect(parsed?.matches(name)).toBe(matchesNaively(pattern, name))
        },
      ),
      { numRuns: effort(3_000, 300) },
    )
  })

  it.each(['', '******', '**a**b**', 'a\\'])('the pattern %s is invalid', pattern => {
    expect(GroupPattern.parse(pattern)).toBeUndefined()
  })

  it('a pattern may have up to five stars', () => {
    expect(matches('**a**b*', 'xa.bb')).toBe(true)
    expect(matches('\\******', '*')).toBe(true)
  })

  it('matching takes time proportional to the pattern length times the name length', () => {
    const name = `${'a'.repeat(1_023)}b`
    expect(matches(`${'a'.repeat(200)}*${'a'.repeat(200)}**${'a'.repeat(200)}*${'a'.repeat(200)}*c`, name)).toBe(false)
  })
})
