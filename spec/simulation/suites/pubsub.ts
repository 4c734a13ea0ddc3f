import { scheduleOf } from '../../pubsub/simulation/schedule.js'
import { simulate } from '../../pubsub/simulation/simulate.js'
import { suiteOf } from '../suite.js'

export const suite = suiteOf(scheduleOf, simulate)
