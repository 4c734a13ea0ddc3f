import type { Sabotage } from './broker.js'
import { Random } from './random.js'
import { type Action, describeAction, type Schedule, scheduleOf } from './schedule.js'
import { type Verdict, World } from './world.js'

/** Runs a schedule; the backoff's chance is the schedule's too. */
export function simulate(schedule: Schedule, sabotage?: Sabotage): Verdict {
  const chance = Math.random
  Math.random = new Random(schedule.seed).next
  try {
    return new World(schedule, sabotage).run()
  } finally {
    Math.random = chance
  }
}

/** The same failure with as few actions as possible. */
export function shrink(schedule: Schedule): Schedule {
  let smallest = schedule
  let progress = true
  while (progress) {
    progress = false
    for (const left of smallest.actions) {
      const candidate: Schedule = { ...smallest, actions: smallest.actions.filter(action => action !== left) }
      if (simulate(candidate).violations.length === 0) continue
      smallest = candidate
      progress = true
      break
    }
  }
  return smallest
}

/** What a person needs to understand a failure. */
export function report(schedule: Schedule): string {
  const small = shrink(schedule)
  const { violations } = simulate(small)
  return [
    `seed ${schedule.seed} (replay: SEED=${schedule.seed})`,
    ...small.clients.map((client, i) => `client${i} ${JSON.stringify(client)}`),
    JSON.stringify(small.conditions),
    ...small.actions.map((action: Action) => describeAction(action)),
    ...violations,
  ].join('\n')
}

/** Simulates the seeds; the first failure, and what came together. */
export function simulateAll(
  first: number,
  count: number,
): { failure: string | undefined; total: Omit<Verdict, 'violations'> } {
  let [entries, changes] = [0, 0]
  const writes: Record<string, number> = {}
  for (let seed = first; seed < first + count; seed++) {
    const schedule = scheduleOf(seed)
    const verdict = simulate(schedule)
    if (verdict.violations.length > 0) return { failure: report(schedule), total: { entries, changes, writes } }
    entries += verdict.entries
    changes += verdict.changes
    for (const [outcome, times] of Object.entries(verdict.writes)) writes[outcome] = (writes[outcome] ?? 0) + times
  }
  return { failure: undefined, total: { entries, changes, writes } }
}
