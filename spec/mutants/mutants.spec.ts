import { describe, expect, it } from 'vitest'
import { CASES, SIMULATIONS } from './all.js'
import { hunt } from './hunt.js'
import { mutatedFiles } from './mutant.js'

const MAX_SCHEDULES = 20_000
const UNCHANGED: ReadonlyMap<string, string> = new Map()

const seedsTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1)

describe('mutants', { timeout: 240_000 }, () => {
  it.concurrent.for(CASES)(
    'the simulation $simulation complains unless $safeguard',
    async ({ simulation, safeguard, file, mutant }, { signal }) => {
      const { seed, complaint } = mutant
      const files = mutatedFiles(safeguard, file, mutant)
      const caught = await hunt({ simulation, seeds: [seed, ...seedsTo(MAX_SCHEDULES)], files, complaint }, signal)
      console.info(`${simulation}: unless ${safeguard}: seed ${caught?.seed}: ${caught?.complaint}`)
      expect(caught).toBeDefined()
    },
  )

  it.concurrent.for(SIMULATIONS)(
    'the simulation %s does not complain about the source as it is',
    async (simulation, { signal }) => {
      const known = CASES.filter(each => each.simulation === simulation).map(({ mutant }) => mutant.seed)
      expect(await hunt({ simulation, seeds: [...known, ...seedsTo(100)], files: UNCHANGED }, signal)).toBeUndefined()
    },
  )
})
