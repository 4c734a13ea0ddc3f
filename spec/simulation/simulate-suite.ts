import { expect, it } from 'vitest'
import { effort, nightly, SEED } from '../support/effort.js'
import { SUITES, type SuiteName } from './suites.js'

/** The number of schedules. `npm run simulate` instead runs as many as time permits, for an hour every night. */
const SCHEDULES = effort(nightly(1_000, 400), 20)

/**
 * Declares a spec that simulates schedules, starting with the run's seed. `SEED=n` starts with a schedule that
 * failed. Seeds that failed are added to `regressions.ts`.
 */
export function simulateSuite(suite: SuiteName, guarantee: string): void {
  it(`${guarantee} in ${SCHEDULES} simulated schedules`, { timeout: 600_000 }, () => {
    console.info(`${guarantee}: ${SCHEDULES} schedules from seed ${SEED}`)
    const { violations, report } = SUITES[suite]
    for (let seed = SEED; seed < SEED + SCHEDULES; seed++)
      if (violations(seed).length > 0) expect.fail(`${report(seed)}\nreplay: SEED=${seed}`)
  })
}
