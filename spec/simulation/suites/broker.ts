import { BROKER_GENERATORS } from '../../server/broker/simulation/schedule.js'
import { World } from '../../server/broker/simulation/world.js'
import { suiteOf } from '../worlds/suite.js'

/** Clients of one broker. */
export const suite = suiteOf(BROKER_GENERATORS, schedule => new World(schedule).run())
