import { optimisticScheduleOf } from '../optimistic-schedule.js'
import { simulateOptimistic } from '../optimistic-world.js'
import { suiteOf } from '../suite.js'

export const suite = suiteOf(optimisticScheduleOf, simulateOptimistic)
