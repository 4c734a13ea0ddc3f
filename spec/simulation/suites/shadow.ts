import { SHADOW_GENERATORS } from '../shadow-schedule.js'
import { ShadowWorld } from '../shadow-world.js'
import { suiteOf } from '../suite.js'

/** Shadows of devices. */
export const suite = suiteOf(SHADOW_GENERATORS, schedule => new ShadowWorld(schedule).run())
