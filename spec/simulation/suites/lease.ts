import { LEASE_GENERATORS } from '../lease-schedule.js'
import { LeaseWorld } from '../lease-world.js'
import { suiteOf } from '../suite.js'

/** Leases of candidates that compete. */
export const suite = suiteOf(LEASE_GENERATORS, schedule => new LeaseWorld(schedule).run())
