import { scheduleOf } from '../generators.js'
import { simulate } from '../simulate.js'
import { suiteOf } from '../suite.js'

/** Simulates watched keys of clients at one broker. */
export const suite = suiteOf(scheduleOf, simulate)
