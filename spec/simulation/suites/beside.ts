import { suiteOf } from '../worlds/suite.js'
import { besideSchedule } from '../worlds/watch-schedule.js'
import { WatchWorld } from '../worlds/watch-world.js'

/** Watched keys of an attached store. */
export const suite = suiteOf([besideSchedule], schedule => new WatchWorld(schedule).run())
