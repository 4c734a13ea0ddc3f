import { expect, it } from 'vitest'
import { effort } from '../support/effort.js'
import type { Suite } from './suite.js'

const SEED = process.env['SEED']
const SEEDS = 2 ** 32

/** How many schedules a run tries. */
export interface Effort {
  readonly gate: number
  readonly developer: number
}

/**
 * A spec that runs a suite from a seed that nobody chose, so that no two runs are the same. `SEED=n` replays one seed. A
 * seed that failed goes into `regressions.ts`.
 */
export function disasters(what: string, suite: Suite, { gate, developer }: Effort): void {
  const count = SEED === undefined ? effort(gate, developer) : 1
  const first = SEED === undefined ? Math.floor(Math.random() * SEEDS) : Number(SEED)
  it(`${what} in ${count} simulated disasters`, { timeout: 600_000 }, () => {
    console.info(`${what}: ${count} schedules from seed ${first}`)
    for (let n = 0; n < count; n++) {
      const seed = (first + n) % SEEDS
      if (suite.violations(seed).length > 0) expect.fail(`${suite.report(seed)}\nreplay: SEED=${seed}`)
    }
  })
}
