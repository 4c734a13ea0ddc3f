import { suiteOf } from '../worlds/suite.js'
import { WATCH_GENERATORS } from '../worlds/watch-schedule.js'
import { WatchWorld } from '../worlds/watch-world.js'

/** Watched keys of clients at one broker. */
export const suite = suiteOf(WATCH_GENERATORS, schedule => new WatchWorld(schedule).run())
