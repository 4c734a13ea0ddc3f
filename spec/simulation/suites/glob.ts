import { GLOB_GENERATORS } from '../glob-schedule.js'
import { GlobWorld } from '../glob-world.js'
import { suiteOf } from '../suite.js'

/** Watched globs of clients. */
export const suite = suiteOf(GLOB_GENERATORS, schedule => new GlobWorld(schedule).run())
