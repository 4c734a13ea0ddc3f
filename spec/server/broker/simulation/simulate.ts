import { shrink } from '../../../simulation/simulate.js'
import { type Action, type Schedule, scheduleOf } from './schedule.js'
import { type Verdict, World } from './world.js'

export const violationsOf = (seed: number): readonly string[] => simulate(scheduleOf(seed)).violations

export const simulate = (schedule: Schedule): Verdict => new World(schedule).run()

const describeAction = ({ moves, type, ...rest }: Action): string =>
  `${moves} moves, then ${type} ${JSON.stringify(rest)}`

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

/** Simulates the seeds. Returns the first failure and the number of moved packets. */
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
