import { OPTIMISTIC_GENERATORS } from '../optimistic-schedule.js'
import { OptimisticWorld } from '../optimistic-world.js'
import { suiteOf } from '../suite.js'

/** Optimistic views of keys. */
export const suite = suiteOf(OPTIMISTIC_GENERATORS, schedule => new OptimisticWorld(schedule).run())
