import { PUBSUB_GENERATORS } from '../../pubsub/simulation/schedule.js'
import { World } from '../../pubsub/simulation/world.js'
import { suiteOf } from '../worlds/suite.js'

/** Clients of a hub. */
export const suite = suiteOf(PUBSUB_GENERATORS, schedule => new World(schedule).run())
