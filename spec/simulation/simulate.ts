import type { Sabotage } from './broker.js'
import { Random } from './random.js'
import { type Action, describeAction, type Schedule, scheduleOf } from './schedule.js'
import { type Verdict, World } from './world.js'

/** Runs something whose every chance comes from the seed. */
export function seeded<T>(seed: number, run: () => T): T {
  const chance = Math.random
  Math.random = new Random(seed).next
  try {
    return run()
  } finally {
    Math.random = chance
  }
}

/** Runs a schedule; the backoff's chance is the schedule's too. */
export const simulate = (schedule: Schedule, sabotage?: Sabotage): Verdict =>
  seeded(schedule.seed, () => new World(schedule, sabotage).run())

/** The same failure with as few actions as possible. */
export function shrink<S extends { readonly actions: readonly unknown[] }>(schedule: S, fails: (of: S) => boolean): S {
  let smallest = schedule
  let progress = true
  while (progress) {
    progress = false
    for (const left of smallest.actions) {
      const candidate: S = { ...smallest, actions: smallest.actions.filter(action => action !== left) }
      if (!fails(candidate)) continue
      smallest = candidate
      progress = true
      break
    }
  }
  return smallest
}

/** What a person needs to understand a failure. */
export function report(schedule: Schedule): string {
  const small = shrink(schedule, candidate => simulate(candidate).violations.length > 0)
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
