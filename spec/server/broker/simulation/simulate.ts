import { shrink } from '../../../simulation/simulate.js'
import { type Action, type Schedule, scheduleOf } from './schedule.js'
import { type Verdict, World } from './world.js'

/** What is to be said against what the broker does in the schedule of a seed. */
export const violationsOf = (seed: number): readonly string[] => simulate(scheduleOf(seed)).violations

/** Runs a schedule. */
export const simulate = (schedule: Schedule): Verdict => new World(schedule).run()

const describeAction = ({ moves, type, ...rest }: Action): string =>
  `${moves} moves, then ${type} ${JSON.stringify(rest)}`

/** What a person needs to understand the failure of a seed. */
export function reportOf(seed: number): string {
  const schedule = scheduleOf(seed)
  const small = shrink(schedule, candidate => simulate(candidate).violations.length > 0)
  const { versions, tight, ending } = small
  return [
    `seed ${seed} (replay: SEED=${seed})`,
    JSON.stringify({ versions, tight, ending }),
    ...small.actions.map(describeAction),
    ...simulate(small).violations,
  ].join('\n')
}

/** Simulates the seeds; the first failure, and how many packets moved. */
export function simulateAll(seeds: Iterable<number>): { failure: string | undefined; moves: number } {
  let moves = 0
  for (const seed of seeds) {
    const schedule = scheduleOf(seed)
    const verdict = simulate(schedule)
    if (verdict.violations.length > 0) return { failure: reportOf(seed), moves }
    moves += verdict.moves
  }
  return { failure: undefined, moves }
}
