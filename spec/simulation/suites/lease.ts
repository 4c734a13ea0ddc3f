import { LEASE_GENERATORS } from '../worlds/lease-schedule.js'
import { LeaseWorld } from '../worlds/lease-world.js'
import { suiteOf } from '../worlds/suite.js'

/** Leases of candidates that compete. */
export const suite = suiteOf(LEASE_GENERATORS, schedule => new LeaseWorld(schedule).run())
