import { CLUSTER_GENERATORS } from '../cluster-schedule.js'
import { ClusterWorld } from '../cluster-world.js'
import { suiteOf } from '../suite.js'

/** Nodes of a store that share a log. */
export const suite = suiteOf(CLUSTER_GENERATORS, schedule => new ClusterWorld(schedule, false).run())
