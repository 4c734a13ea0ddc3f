import { nodeScheduleOf } from '../node-schedule.js'
import { simulate } from '../simulate.js'
import { suiteOf } from '../suite.js'

/** Simulates watched keys of clients that move between the nodes of a store. */
export const suite = suiteOf(nodeScheduleOf, simulate)
