import { CLUSTER_GENERATORS } from '../worlds/cluster-schedule.js'
import { ClusterWorld } from '../worlds/cluster-world.js'
import { suiteOf } from '../worlds/suite.js'

/** Nodes of a store that share a log. */
export const suite = suiteOf(CLUSTER_GENERATORS, schedule => new ClusterWorld(schedule, false).run())
