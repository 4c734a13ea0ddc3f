import { describeAction } from '../../simulation/schedule.js'
import { seeded, shrink } from '../../simulation/simulate.js'
import { type Schedule, scheduleOf } from './schedule.js'
import { type Verdict, World } from './world.js'

/** A schedule that violated a guarantee. */
export interface Failure {
  readonly seed: number
  /** The violations. The first one names the family of failures. */
  readonly violations: readonly string[]
}

export interface SimulationResult {
  readonly schedules: number
  readonly failures: readonly Failure[]
  readonly processed: number
  /** The number of sends by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** Runs a schedule. The seed also determines the jitter of the backoff. */
export const simulate = (schedule: Schedule): Verdict => seeded(schedule.seed, () => new World(schedule).run())

/** Describes a failing seed with the smallest part of its schedule that fails, and the violations. */
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
