import { SHADOW_GENERATORS } from '../worlds/shadow-schedule.js'
import { ShadowWorld } from '../worlds/shadow-world.js'
import { suiteOf } from '../worlds/suite.js'

/** Shadows of devices. */
export const suite = suiteOf(SHADOW_GENERATORS, schedule => new ShadowWorld(schedule).run())
