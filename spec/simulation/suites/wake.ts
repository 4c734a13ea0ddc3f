import { suiteOf } from '../suite.js'
import { WAKE_GENERATORS } from '../wake-schedule.js'
import { WakeWorld } from '../wake-world.js'

/** The check of a connection after system sleep. */
export const suite = suiteOf(WAKE_GENERATORS, schedule => new WakeWorld(schedule).run())
