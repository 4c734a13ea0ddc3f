import { describeAction } from '../../simulation/schedule.js'
import { seeded, shrink } from '../../simulation/simulate.js'
import { type Schedule, scheduleOf } from './schedule.js'
import { type Verdict, World } from './world.js'

/** A schedule that violated a guarantee. */
export interface Failure {
  readonly seed: number
  /** The violations; the first names the family. */
  readonly violations: readonly string[]
}

/** Results of many schedules. */
export interface SimulationResult {
  readonly schedules: number
  readonly failures: readonly Failure[]
  readonly processed: number
  /** Number of sends by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** Runs a schedule; the seed also determines the backoff's jitter. */
export const simulate = (schedule: Schedule): Verdict => seeded(schedule.seed, () => new World(schedule).run())

/** Describes a failing seed: the smallest part of its schedule that fails, and how. */
export function explain(seed: number): string {
  const small = shrink(scheduleOf(seed), candidate => simulate(candidate).violations.length > 0)
  const { clients, conditions, retention, idleTimeout, signs } = small
  return [
    `seed ${seed} (replay: SEED=${seed})`,
    ...clients.map((client, i) => `client${i} ${JSON.stringify(client)}`),
    JSON.stringify({ retention, idleTimeout, signs, ...conditions }),
    ...small.actions.map(describeAction),
    ...simulate(small).violations,
  ].join('\n')
}

/**
 * Simulates the schedules of `count` seeds from `firstSeed` on, including those after a failure.
 *
 * @example
 * ```ts
 * const { schedules, failures } = simulateAll(910_000_001, 5_000)
 * for (const { seed } of failures.slice(0, 3)) console.log(explain(seed))
 * ```
 */
export function simulateAll(firstSeed: number, count: number): SimulationResult {
  const failures: Failure[] = []
  const outcomes: Record<string, number> = {}
  let processed = 0
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const verdict = simulate(scheduleOf(seed))
    if (verdict.violations.length > 0) failures.push({ seed, violations: verdict.violations })
    processed += verdict.processed
    for (const [outcome, times] of Object.entries(verdict.outcomes)) {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + times
    }
  }
  return { schedules: count, failures, processed, outcomes }
}
