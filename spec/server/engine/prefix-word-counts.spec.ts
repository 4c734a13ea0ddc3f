import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PrefixWordCounts } from '../../../src/server/engine/glob-watchers.js'

const anyPrefix = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 5 })
const anyGlob = fc.record({ prefix: anyPrefix, words: fc.integer({ min: 1, max: 3 }) })

describe('PrefixWordCounts', () => {
  it('maxWordsWith is the maximum over all keys after single and bulk changes', () => {
    fc.assert(
      fc.property(
        fc.array(anyGlob),
        fc.array(anyGlob),
        fc.array(anyGlob),
        anyPrefix,
        (remaining, single, batch, probe) => {
          const counts = new PrefixWordCounts()
          for (const { prefix, words } of [...single, ...batch]) counts.add(prefix, words)
          for (const { prefix, words } of single) counts.add(prefix, -words)
          counts.addAll([...batch.map(({ prefix, words }) => ({ prefix, words: -words })), ...remaining])
          const wordsOn = (key: string): number =>
            remaining.reduce((sum, { prefix, words }) => sum + (key.startsWith(prefix) ? words : 0), 0)
          const keys = [probe, ...remaining.map(({ prefix }) => prefix).filter(prefix => prefix.startsWith(probe))]
          expect(counts.maxWordsWith(probe, 7)).toBe(Math.max(...keys.map(wordsOn)) + 7)
          expect(counts.isEmpty).toBe(remaining.length === 0)
        },
      ),
    )
  })
})
