import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GlobChains } from '../../../src/server/engine/glob-watchers.js'

const anyPrefix = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 5 })
const anyGlob = fc.record({ prefix: anyPrefix, words: fc.integer({ min: 1, max: 3 }) })

describe('GlobChains', () => {
  it('the word limit equals the maximum on any key after any additions and removals, single or in bulk', () => {
    fc.assert(
      fc.property(fc.array(anyGlob), fc.array(anyGlob), fc.array(anyGlob), anyPrefix, (stay, single, batch, asked) => {
        const chains = new GlobChains()
        for (const { prefix, words } of [...single, ...batch]) chains.add(prefix, words)
        for (const { prefix, words } of single) chains.add(prefix, -words)
        chains.addAll([...batch.map(({ prefix, words }) => ({ prefix, words: -words })), ...stay])
        const along = (key: string): number =>
          stay.reduce((sum, { prefix, words }) => sum + (key.startsWith(prefix) ? words : 0), 0)
        const keys = [asked, ...stay.map(({ prefix }) => prefix).filter(prefix => prefix.startsWith(asked))]
        expect(chains.maxWordsWith(asked, 7)).toBe(Math.max(...keys.map(along)) + 7)
        expect(chains.isEmpty).toBe(stay.length === 0)
      }),
    )
  })
})
