import { scheduleOf } from './generators.js'
import { Random } from './random.js'
import type { Action, Schedule } from './schedule.js'

/** The number of the watch schedule generator that draws the rest of the schedule. */
const WATCH_GENERATOR = 3

const GENERATORS = [first]

export function nodeScheduleOf(seed: number, generator: number = GENERATORS.length): Schedule {
  const generate = GENERATORS[generator - 1]
  if (generate === undefined) throw new RangeError(`There is no generator ${generator}`)
  return generate(seed)
}

/** Returns a schedule with clients that move between nodes, some of which lag. Nodes never lose the log. */
function first(seed: number): Schedule {
  const random = new Random(seed ^ 0x90de)
  const { kind, clients, conditions, actions } = scheduleOf(random.int(0, 2 ** 31), WATCH_GENERATOR)
  const nodes = random.int(2, 3)
  const moves = Array.from(
    { length: random.int(1, 8) },
    (): Action => ({ at: random.int(0, 5_900), type: 'move', client: random.int(0, clients.length - 1) }),
  )
  // A node does not notice that another client uses the same id on another node.
  const kept = actions.filter(({ type }) => type !== 'takeover')
  const elsewhere = kept.map(
    (action): Action =>
      action.type === 'restart' ? { ...action, node: random.int(0, nodes - 1), keepData: true, clockBack: 0 } : action,
  )
  const all = [...elsewhere, ...moves].sort((a, b) => a.at - b.at)
  const lag = random.pick([0, 5, 60, 400, 2_000])
  return { seed, kind, clients, nodes, conditions: { ...conditions, lag }, actions: all }
}
