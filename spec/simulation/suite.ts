import { describeAction } from './schedule.js'
import { shrink } from './simulate.js'

export interface Scheduled {
  readonly seed: number
  readonly actions: readonly { readonly at: number; readonly type: string }[]
}

export interface Suite {
  /** Returns the violations of a seed. The default is the latest generator. */
  violations(seed: number, generator?: number): readonly string[]
  /** Returns a readable report of a failure, with the smallest schedule that fails in the same way. */
  report(seed: number, generator?: number): string
}

/** Creates a suite from a generator of schedules and a function that runs them. */
export function suiteOf<S extends Scheduled>(
  scheduleOf: (seed: number, generator: number | undefined) => S,
  run: (schedule: S) => { readonly violations: readonly string[] },
): Suite {
  return {
    violations: (seed, generator) => run(scheduleOf(seed, generator)).violations,
    report: (seed, generator) => reportOf(scheduleOf(seed, generator), run, generator),
  }
}

/** Returns the text of a violation without the names and numbers of its seed, so that equal failures can be grouped. */
export const normalizeViolation = (violation: string): string =>
  violation
    .replace(/^\d+ ms /, '')
    .replace(/\b(client|candidate|key|v)\d+\S*/g, '$1')
    .replace(/\(\w+ \d+\)/g, '')
    .replace(/\d+(:\d+:\w+)?/g, 'N')
    .replace(/ shows .*| has state .*/, '')

function reportOf<S extends Scheduled>(
  schedule: S,
  run: (schedule: S) => { readonly violations: readonly string[] },
  generator: number | undefined,
): string {
  const families = new Set(run(schedule).violations.map(normalizeViolation))
  const small = shrink(schedule, candidate =>
    run(candidate).violations.some(one => families.has(normalizeViolation(one))),
  )
  const { seed, actions, ...circumstances } = small
  return [
    `seed ${seed}${generator === undefined ? '' : ` of generator ${generator}`}`,
    ...Object.entries(circumstances).flatMap(([name, value]) => describe(name, value)),
    ...actions.map(describeAction),
    ...run(small).violations,
  ].join('\n')
}

const describe = (name: string, value: unknown): string[] =>
  Array.isArray(value)
    ? value.map((one, i) => `${name.replace(/s$/, '')}${i} ${JSON.stringify(one)}`)
    : [`${name} ${JSON.stringify(value)}`]
