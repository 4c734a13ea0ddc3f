import { describe, expect, it } from 'vitest'
import { CASES } from './all.js'
import { type Case, mutatedFiles } from './mutant.js'

for (const each of CASES)
  it(`the code by which ${each.safeguard} occurs exactly once in its file ("${each.simulation}")`, () => {
    expect(mutatedFiles(each).size).toBeGreaterThan(0)
  })

describe('a mutant', () => {
  const mutant: Case = {
    simulation: 'watch',
    safeguard: 'it holds',
    file: 'src/index.ts',
    mutant: { seed: 1, code: 'code' },
  }
  const file = 'src/client/watch/registry.ts'

  it('of a missing file is rejected with the names of the mutant and the file', () => {
    expect(() => mutatedFiles({ ...mutant, file: 'src/gone.ts' })).toThrow(
      'src/gone.ts does not exist: name the file that the mutant without "it holds" changes',
    )
  })

  it('whose code does not occur is rejected with the names of the mutant and the file', () => {
    expect(() => mutatedFiles({ ...mutant, file, mutant: { seed: 1, code: 'no such code' } })).toThrow(
      `${file} has the code of the mutant without "it holds" 0 times, not once; give the code as it is now:\nno such code`,
    )
  })

  it('whose code occurs more than once is rejected', () => {
    expect(() => mutatedFiles({ ...mutant, file, mutant: { seed: 1, code: 'import' } })).toThrow('times, not once')
  })
})
