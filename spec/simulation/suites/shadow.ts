import { shadowScheduleOf } from '../shadow-schedule.js'
import { simulateShadows } from '../shadow-world.js'
import { suiteOf } from '../suite.js'

export const suite = suiteOf(shadowScheduleOf, simulateShadows)
