import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileRequestGlob } from '../../../src/core/protocol/parse-command.js'
import { GlobIndex } from '../../../src/server/engine/glob-watchers.js'
import { effort } from '../../support/effort.js'
import { bytes } from '../../support/words.js'

const character = fc.constantFrom('*', '*', '?', '[', ']', '\\', 'a', 'b', '/', '\0', '\xff')
const anyGlob = fc.array(character, { maxLength: 8 }).map(characters => characters.join(''))
const anyKey = fc
  .array(fc.constantFrom('a', 'b', '/', '*', '\\', '\0', '\xff'), { maxLength: 8 })
  .map(characters => characters.join(''))
/** Keys and globs with a common prefix that is longer than the indexed length. */
const long = 'factory/'.repeat(9)
const anything = fc.tuple(fc.constantFrom('', long, long.slice(0, 63), long.slice(0, 64)), anyGlob, anyKey)

function indexOf(globs: Iterable<string>): GlobIndex<string> {
  const index = new GlobIndex<string>()
  for (const glob of new Set(globs)) index.add(index.compile(glob))
  return index
}

const matching = (index: GlobIndex<string>, key: string): string[] =>
  Array.from(index.matching(key), ({ id }) => id).sort()

/** Returns a reference implementation that compares a key with every glob. */
function matchEach(globs: readonly string[]): (key: string) => string[] {
  const compiled = globs
    .map(glob => ({ glob, matcher: compileRequestGlob(bytes(glob)) }))
    .sort((a, b) => (a.glob < b.glob ? -1 : 1))
  return key => compiled.filter(({ matcher }) => matcher.matches(bytes(key))).map(({ glob }) => glob)
}

describe('GlobIndex', () => {
  it('after any changes, the index finds the same globs as comparing with every glob', {
    timeout: 60_000,
  }, () => {
    fc.assert(
      fc.property(fc.array(anything, { minLength: 1, maxLength: 20 }), fc.nat(20), (samples, removedCount) => {
        const globs = Array.from(new Set(samples.map(([prefix, glob]) => prefix + glob)))
        const index = indexOf(globs)
        for (const glob of globs.slice(0, removedCount)) {
          const watched = index.get(glob)
          if (watched) index.remove(watched)
        }
        const remaining = globs.slice(removedCount)
        expect(index.size).toBe(remaining.length)
        const expected = matchEach(remaining)
        const keys = samples.map(([prefix, , key]) => prefix + key)
        expect(keys.map(key => matching(index, key))).toEqual(keys.map(expected))
      }),
      { numRuns: effort(500, 100) },
    )
  })

  it('a key is compared only with globs whose literal prefix it has', () => {
    const rooms = Array.from({ length: 1_000 }, (_, i) => `room/${i}/*`)
    const index = indexOf(rooms)
    expect(matching(index, 'room/7/lamp')).toEqual(['room/7/*'])
    expect(index.workOf('room/7/lamp')).toBe('room/7/lamp'.length + 1)
    expect(index.workOf('hall')).toBe(0)
  })

  it('the index is empty when all globs have been removed', () => {
    const index = indexOf(['a*', '*', 'a?'])
    for (const id of ['a*', '*', 'a?']) {
      const watched = index.get(id)
      if (watched) index.remove(watched)
    }
    expect([index.size, index.workOf('a'), matching(index, 'a')]).toEqual([0, 0, []])
  })
})
