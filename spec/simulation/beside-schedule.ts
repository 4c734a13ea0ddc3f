import { scheduleOf } from './generators.js'
import { Random } from './random.js'
import type { Action, Schedule } from './schedule.js'

/** The number of the watch schedule generator that draws the rest of the schedule. */
const WATCH_GENERATOR = 3

const GENERATORS = [first]

export function besideScheduleOf(seed: number, generator: number = GENERATORS.length): Schedule {
  const generate = GENERATORS[generator - 1]
  if (generate === undefined) throw new RangeError(`There is no generator ${generator}`)
  return generate(seed)
}

/** Returns a schedule with a store that is replaced while connections last, with or without its keys. */
function first(seed: number): Schedule {
  const random = new Random(seed ^ 0xbe51de)
  const { kind, clients, conditions, actions } = scheduleOf(random.int(0, 2 ** 31), WATCH_GENERATOR)
  const failovers = Array.from(
    { length: random.int(1, 5) },
    (): Action => ({
      at: random.int(0, 5_900),
      type: 'failover',
      keepData: random.chance(0.7),
      outage: random.pick([0, 0, 20, 300, 1_500]),
      isAnnounced: random.chance(0.5),
    }),
  )
  const all = [...actions, ...failovers].sort((a, b) => a.at - b.at)
  return { seed, kind, clients, beside: true, conditions, actions: all }
}
