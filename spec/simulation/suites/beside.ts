import { besideScheduleOf } from '../beside-schedule.js'
import { simulate } from '../simulate.js'
import { suiteOf } from '../suite.js'

/** Simulates watched keys of an attached store. */
export const suite = suiteOf(besideScheduleOf, simulate)
