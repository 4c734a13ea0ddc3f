import { besideScheduleOf } from '../beside-schedule.js'
import { simulate } from '../simulate.js'
import { suiteOf } from '../suite.js'

/** Watched keys of an attached store. */
export const suite = suiteOf(besideScheduleOf, simulate)
