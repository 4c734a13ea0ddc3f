import { Random } from '../../../harness/random.js'
import type { Schedule } from './schedule.js'

export interface Suite {
  /** Returns the violations of a seed. The default is the latest generator. */
  violations(seed: number, generator?: number): readonly string[]
  /** Returns a readable report of a failure, with the smallest schedule that fails in the same way. */
  report(seed: number, generator?: number): string
}

/**
 * Creates a suite.
 *
 * @param generators - the generators of schedules, numbered from 1. The schedule of a seed must not change, because
 * otherwise regression seeds would become meaningless. A generator that draws different values gets a new number, and
 * the older ones stay.
 * @param simulate - runs a schedule, and returns the violated guarantees
 */
export function suiteOf<S extends Schedule>(
  generators: readonly ((seed: number) => S)[],
  simulate: (schedule: S) => readonly string[],
): Suite {
  const run = (schedule: S): readonly string[] => seeded(schedule.seed, () => simulate(schedule))
  const scheduleOf = (seed: number, generator = generators.length): S => {
    const generate = generators[generator - 1]
    if (generate === undefined) throw new RangeError(`There is no generator ${generator}`)
    return generate(seed)
  }
  return {
    violations: (seed, generator) => run(scheduleOf(seed, generator)),
    report: (seed, generator) => {
      const schedule = scheduleOf(seed, generator)
      const families = new Set(run(schedule).map(normalizeViolation))
      const small = shrink(schedule, candidate => run(candidate).some(one => families.has(normalizeViolation(one))))
      const { actions, ...circumstances } = small
      return [
        `generator ${generator ?? generators.length}`,
        ...Object.entries(circumstances).flatMap(([name, value]) => describe(name, value)),
        ...actions.map(({ type, ...rest }) => describe(type, rest)),
        ...run(small),
      ].join('\n')
    },
  }
}

/** Returns the text of a violation without the names and numbers of its seed, so that equal failures can be grouped. */
export const normalizeViolation = (violation: string): string =>
  violation
    .replace(/^\d+ ms:? /, '')
    .replace(/\b(client|candidate|key|v)\d+\S*/g, '$1')
    .replace(/\(\w+ \d+\)/g, '')
    .replace(/\d+(:\d+:\w+)?/g, 'N')
    .replace(/ shows .*| has state .*/, '')

/** Runs a function whose random numbers are drawn from the seed. */
function seeded<T>(seed: number, run: () => T): T {
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

/** Removes actions from a schedule as long as the schedule still fails. */
function shrink<S extends Schedule>(schedule: S, fails: (of: S) => boolean): S {
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

const describe = (name: string, value: unknown): string[] =>
  Array.isArray(value)
    ? value.map((one, i) => `${name.replace(/s$/, '')}${i} ${JSON.stringify(one)}`)
    : [`${name} ${JSON.stringify(value)}`]
