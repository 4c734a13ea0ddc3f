import { suiteOf } from '../suite.js'
import { NODE_GENERATORS } from '../watch-schedule.js'
import { WatchWorld } from '../watch-world.js'

/** Watched keys of clients that move between the nodes of a store. */
export const suite = suiteOf(NODE_GENERATORS, schedule => new WatchWorld(schedule).run())
