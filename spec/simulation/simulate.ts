import { Random } from './random.js'
import type { Schedule } from './schedule.js'
import { type SimulationResult, World } from './world.js'

/** Runs a function whose random numbers are drawn from the seed. */
export function seeded<T>(seed: number, run: () => T): T {
  const [chance, { stackTraceLimit }] = [Math.random, Error]
  Math.random = new Random(seed).next
  // Nothing reads the stack traces of expected errors, and capturing them takes a seventh of the time.
  Error.stackTraceLimit = 0
  try {
    return run()
  } finally {
    Math.random = chance
    Error.stackTraceLimit = stackTraceLimit
  }
}

export const simulate = (schedule: Schedule): SimulationResult => seeded(schedule.seed, () => new World(schedule).run())

/** Removes actions from a schedule as long as the schedule still fails. */
export function shrink<S extends { readonly actions: readonly unknown[] }>(schedule: S, fails: (of: S) => boolean): S {
  let smallest = schedule
  for (let i = 0; i < smallest.actions.length; ) {
    const candidate: S = { ...smallest, actions: smallest.actions.filter((_, at) => at !== i) }
    if (!fails(candidate)) {
      i++
      continue
    }
    smallest = candidate
    // An action that was necessary before may now be removable.
    i = 0
  }
  return smallest
}
