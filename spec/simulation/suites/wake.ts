import { suiteOf } from '../worlds/suite.js'
import { WAKE_GENERATORS } from '../worlds/wake-schedule.js'
import { WakeWorld } from '../worlds/wake-world.js'

/** The check of a connection after system sleep. */
export const suite = suiteOf(WAKE_GENERATORS, schedule => new WakeWorld(schedule).run())
