import { describe, expect, it } from 'vitest'
import { CASES } from './all.js'
import { hunt } from './hunt.js'
import { mutatedFiles } from './mutant.js'

const MAX_SCHEDULES = 20_000
const UNCHANGED: ReadonlyMap<string, string> = new Map()

const seedsTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1)

describe('mutants', { timeout: 240_000 }, () => {
  for (const each of CASES)
    it.concurrent(`the simulation "${each.simulation}" reports a violation unless ${each.safeguard}`, async ({
      signal,
    }) => {
      const { seed, complaint } = each.mutant
      const seeds = [seed, ...seedsTo(MAX_SCHEDULES)]
      const caught = await hunt({ simulation: each.simulation, seeds, files: mutatedFiles(each), complaint }, signal)
      console.info(`${each.simulation}: unless ${each.safeguard}: seed ${caught?.seed}: ${caught?.complaint}`)
      expect(caught, `no complaint in ${MAX_SCHEDULES} schedules`).toBeDefined()
    })

  for (const simulation of new Set(CASES.map(({ simulation }) => simulation)))
    it.concurrent(`the simulation "${simulation}" accepts the unchanged source`, async ({ signal }) => {
      const known = CASES.filter(each => each.simulation === simulation).map(({ mutant }) => mutant.seed)
      expect(await hunt({ simulation, seeds: known, files: UNCHANGED }, signal)).toBeUndefined()
    })
})
