import { describeAction } from './schedule.js'
import { shrink } from './simulate.js'

/** What every schedule has. */
export interface Scheduled {
  readonly seed: number
  readonly actions: readonly { readonly at: number; readonly type: string }[]
}

/** One kind of simulation. */
export interface Suite {
  /** The complaints about a seed, by the latest generator if none is given. */
  violations(seed: number, generator?: number): readonly string[]
  /** What a person needs to understand a failure: the least that still fails alike. */
  report(seed: number, generator?: number): string
}

/** Makes a suite of a generator of schedules and what runs them. */
export function suiteOf<S extends Scheduled>(
  scheduleOf: (seed: number, generator: number | undefined) => S,
  run: (schedule: S) => { readonly violations: readonly string[] },
): Suite {
  return {
    violations: (seed, generator) => run(scheduleOf(seed, generator)).violations,
    report: (seed, generator) => reportOf(scheduleOf(seed, generator), run, generator),
  }
}

/** Failures of one kind have one text, without the names and numbers of their seed. */
export const familyOf = (violation: string): string =>
  violation
    .replace(/^\d+ ms /, '')
    .replace(/\b(client|candidate|key|v)\d+\S*/g, '$1')
    .replace(/\(\w+ \d+\)/g, '')
    .replace(/\d+(:\d+:\w+)?/g, 'N')
    .replace(/ shows .*| stands at .*/, '')

function reportOf<S extends Scheduled>(
  schedule: S,
  run: (schedule: S) => { readonly violations: readonly string[] },
  generator: number | undefined,
): string {
  const families = new Set(run(schedule).violations.map(familyOf))
  const small = shrink(schedule, candidate => run(candidate).violations.some(one => families.has(familyOf(one))))
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
