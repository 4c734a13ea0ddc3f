import { optimisticScheduleOf } from '../optimistic-schedule.js'
import { simulateOptimistic } from '../optimistic-world.js'
import { suiteOf } from '../suite.js'

/** Optimistic writes. */
export const suite = suiteOf(optimisticScheduleOf, simulateOptimistic)
