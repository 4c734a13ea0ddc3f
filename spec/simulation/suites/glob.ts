import { GLOB_GENERATORS } from '../worlds/glob-schedule.js'
import { GlobWorld } from '../worlds/glob-world.js'
import { suiteOf } from '../worlds/suite.js'

/** Watched globs of clients. */
export const suite = suiteOf(GLOB_GENERATORS, schedule => new GlobWorld(schedule).run())
