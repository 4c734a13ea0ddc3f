import { globScheduleOf } from '../glob-schedule.js'
import { simulateGlobs } from '../glob-world.js'
import { suiteOf } from '../suite.js'

export const suite = suiteOf(globScheduleOf, simulateGlobs)
