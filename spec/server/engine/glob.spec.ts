import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileRequestGlob } from '../../../src/core/protocol/parse-command.js'
import { effort } from '../../support/effort.js'
import { bytes } from '../../support/words.js'

const matches = (glob: string, key: string): boolean => compileRequestGlob(bytes(glob)).matches(bytes(key))

/** Matches by backtracking, as a reference. */
function backtrack(glob: string, key: string): boolean {
  const [sign = '', ...rest] = glob
  const after = rest.join('')
  if (sign === '') return key === ''
  if (sign === '*') return backtrack(after, key) || (key !== '' && backtrack(glob, key.slice(1)))
  const [first] = key
  if (first === undefined) return false
  if (sign === '?') return backtrack(after, key.slice(1))
  if (sign === '[') return backtrackClass(after, first, key.slice(1))
  if (sign === '\\' && after !== '') return after.startsWith(first) && backtrack(after.slice(1), key.slice(1))
  return sign === first && backtrack(after, key.slice(1))
}

/** Class members in regular expression syntax: `a`, `\a` and `a-b`, in which either end may be escaped. */
const MEMBER = /^(\\[\s\S]|[^\]])(?:-(\\[\s\S]|[^\]]))?/

function backtrackClass(glob: string, first: string, key: string): boolean {
  const negated = /^[!^]/.test(glob)
  let rest = negated ? glob.slice(1) : glob
  let member = false
  for (let match = MEMBER.exec(rest); match !== null; match = MEMBER.exec(rest)) {
    const [whole, from = '', to = from] = match
    const ends = [from, to].map(end => (end.length > 1 ? end.slice(1) : end)).sort()
    member ||= (ends[0] ?? '') <= first && first <= (ends[1] ?? '')
    rest = rest.slice(whole.length)
  }
  return member !== negated && backtrack(rest.slice(1), key)
}

describe('Globs', () => {
  it('a glob matches the same keys as a backtracking matcher, for arbitrary bytes', () => {
    const sign = fc.constantFrom('*', '*', '?', '[', ']', '^', '!', '-', '\\', 'a', 'b', 'c', '\0', '\xff')
    const glob = fc.array(sign, { maxLength: 9 }).map(signs => signs.join(''))
    const key = fc.array(fc.constantFrom('a', 'b', 'c', '-', '^', '\\', ']', '\0', '\xff'), { maxLength: 6 })
    fc.assert(
      fc.property(glob, key, (pattern, signs) => {
        expect(matches(pattern, signs.join('')), pattern).toBe(backtrack(pattern, signs.join('')))
      }),
      { numRuns: effort(20_000, 2_000) },
    )
  })

  it.each([31, 32, 33, 63, 64, 65, 127, 1_023])('a glob of %i characters matches only keys of that length', length => {
    const key = 'x'.repeat(length)
    expect([matches(key, key), matches('?'.repeat(length), key), matches(`${'?'.repeat(length)}*`, key)]).toEqual([
      true,
      true,
      true,
    ])
    expect([matches(key, `${key}x`), matches(key, key.slice(1)), matches(`${key}*`, key.slice(1))]).toEqual([
      false,
      false,
      false,
    ])
    expect([matches(`*${key}`, `y${key}`), matches(`*${key}`, `${key}y`)]).toEqual([true, false])
  })

  it('a compiled glob can be reused', () => {
    const { matches } = compileRequestGlob(bytes('a*b'))
    expect(['ab', 'a', 'aab', '', 'axb', 'b'].map(key => matches(bytes(key)))).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
    ])
  })

  // Backtracking would take more steps than there are atoms.
  it('matching does not backtrack', () => {
    const key = 'a'.repeat(20_000)
    expect(matches(`${'*a'.repeat(500)}*b`, key)).toBe(false)
    expect(matches(`${'*[ab]'.repeat(200)}*c`, key)).toBe(false)
    expect(matches(`${'*a'.repeat(500)}`, key)).toBe(true)
  })

  it('a glob of more than 1,024 bytes is rejected', () => {
    expect(() => compileRequestGlob(bytes('*'.repeat(1_024)))).not.toThrow()
    expect(() => compileRequestGlob(bytes('*'.repeat(1_025)))).toThrow(
      expect.objectContaining({ code: 'syntax-error' }),
    )
  })
})
