import { suiteOf } from '../suite.js'
import { WATCH_GENERATORS } from '../watch-schedule.js'
import { WatchWorld } from '../watch-world.js'

/** Watched keys of clients at one broker. */
export const suite = suiteOf(WATCH_GENERATORS, schedule => new WatchWorld(schedule).run())
