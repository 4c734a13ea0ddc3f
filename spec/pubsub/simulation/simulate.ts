import { describeAction } from '../../simulation/schedule.js'
import { seeded, shrink } from '../../simulation/simulate.js'
import { type Schedule, scheduleOf } from './schedule.js'
import { type Sabotage, type Verdict, World } from './world.js'

type Total = Omit<Verdict, 'violations'>

/** Runs a schedule; the backoff's chance is the schedule's too. */
export const simulate = (schedule: Schedule, sabotage?: Sabotage): Verdict =>
  seeded(schedule.seed, () => new World(schedule, sabotage).run())

/** What a person needs to understand a failure. */
function report(schedule: Schedule): string {
  const small = shrink(schedule, candidate => simulate(candidate).violations.length > 0)
  const { clients, conditions, retention, idleTimeout } = small
  return [
    `seed ${schedule.seed} (replay: SEED=${schedule.seed})`,
    ...clients.map((client, i) => `client${i} ${JSON.stringify(client)}`),
    JSON.stringify({ retention, idleTimeout, ...conditions }),
    ...small.actions.map(describeAction),
    ...simulate(small).violations,
  ].join('\n')
}

/** Simulates the seeds; the first failure, and what came together. */
export function simulateAll(first: number, count: number): { failure: string | undefined; total: Total } {
  let processed = 0
  const outcomes: Record<string, number> = {}
  for (let seed = first; seed < first + count; seed++) {
    const schedule = scheduleOf(seed)
    const verdict = simulate(schedule)
    if (verdict.violations.length > 0) return { failure: report(schedule), total: { processed, outcomes } }
    processed += verdict.processed
    for (const [outcome, times] of Object.entries(verdict.outcomes))
      outcomes[outcome] = (outcomes[outcome] ?? 0) + times
  }
  return { failure: undefined, total: { processed, outcomes } }
}
