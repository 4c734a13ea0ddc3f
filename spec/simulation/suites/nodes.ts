import { suiteOf } from '../worlds/suite.js'
import { NODE_GENERATORS } from '../worlds/watch-schedule.js'
import { WatchWorld } from '../worlds/watch-world.js'

/** Watched keys of clients that move between a store's nodes. */
export const suite = suiteOf(NODE_GENERATORS, schedule => new WatchWorld(schedule).run())
