import { suiteOf } from '../suite.js'
import { nodeSchedule } from '../watch-schedule.js'
import { WatchWorld } from '../watch-world.js'

/** Watched keys of clients that move between the nodes of a store. */
export const suite = suiteOf([nodeSchedule], schedule => new WatchWorld(schedule).run())
