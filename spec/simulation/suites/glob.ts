import { globScheduleOf } from '../glob-schedule.js'
import { simulateGlobs } from '../glob-world.js'
import { suiteOf } from '../suite.js'

/** Watched globs. */
export const suite = suiteOf(globScheduleOf, simulateGlobs)
