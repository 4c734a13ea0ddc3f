import { expect, it } from 'vitest'
import { effort, SEED } from '../support/effort.js'
import type { Suite } from './suite.js'

/** `npm run simulate` tries as many as there is time for, each night for an hour. */
const SCHEDULES = effort(1_000, 20)

/**
 * A spec that simulates schedules from the seed of the run on; `SEED=n` of a schedule that failed begins with it. A seed
 * that failed goes into `regressions.ts`.
 */
export function disasters(what: string, suite: Suite): void {
  it(`${what} in ${SCHEDULES} simulated disasters`, { timeout: 600_000 }, () => {
    console.info(`${what}: ${SCHEDULES} schedules from seed ${SEED}`)
    for (let seed = SEED; seed < SEED + SCHEDULES; seed++) {
      if (suite.violations(seed).length > 0) expect.fail(`${suite.report(seed)}\nreplay: SEED=${seed}`)
    }
  })
}
