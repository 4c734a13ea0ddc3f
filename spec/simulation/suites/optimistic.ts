import { OPTIMISTIC_GENERATORS } from '../worlds/optimistic-schedule.js'
import { OptimisticWorld } from '../worlds/optimistic-world.js'
import { suiteOf } from '../worlds/suite.js'

/** Optimistic views of keys. */
export const suite = suiteOf(OPTIMISTIC_GENERATORS, schedule => new OptimisticWorld(schedule).run())
