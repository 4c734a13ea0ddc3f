import { suiteOf } from '../suite.js'
import { besideSchedule } from '../watch-schedule.js'
import { WatchWorld } from '../watch-world.js'

/** Watched keys of an attached store. */
export const suite = suiteOf([besideSchedule], schedule => new WatchWorld(schedule).run())
