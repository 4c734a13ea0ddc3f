import { Random } from './random.js'
import type { Schedule } from './schedule.js'
import { type Verdict, World } from './world.js'

/** Runs something whose every chance comes from the seed. */
export function seeded<T>(seed: number, run: () => T): T {
  const [chance, { stackTraceLimit }] = [Math.random, Error]
  Math.random = new Random(seed).next
  // Nobody reads where an expected error was made, and to find that out takes a seventh of the time.
  Error.stackTraceLimit = 0
  try {
    return run()
  } finally {
    Math.random = chance
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Runs a schedule; the backoff's chance is the schedule's too. */
export const simulate = (schedule: Schedule): Verdict => seeded(schedule.seed, () => new World(schedule).run())

/** The same failure with as few actions as possible. */
export function shrink<S extends { readonly actions: readonly unknown[] }>(schedule: S, fails: (of: S) => boolean): S {
  let smallest = schedule
  for (let i = 0; i < smallest.actions.length; ) {
    const candidate: S = { ...smallest, actions: smallest.actions.filter((_, at) => at !== i) }
    if (!fails(candidate)) {
      i++
      continue
    }
    smallest = candidate
    // What could not go before may go now.
    i = 0
  }
  return smallest
}
