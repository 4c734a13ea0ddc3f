import { expect, it } from 'vitest'
import { CASES } from './all.js'
import { mutatedFiles } from './mutant.js'

it.for(CASES)(
  'the source has the code once that ensures that $safeguard ($simulation)',
  ({ safeguard, file, mutant }) => {
    expect(mutatedFiles(safeguard, file, mutant).size).toBeGreaterThan(0)
  },
)
