import { besideScheduleOf } from '../beside-schedule.js'
import { simulate } from '../simulate.js'
import { suiteOf } from '../suite.js'

/** Watched keys of a store beside its broker. */
export const suite = suiteOf(besideScheduleOf, simulate)
