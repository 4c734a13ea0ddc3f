import { CLUSTER_GENERATORS } from '../worlds/cluster-schedule.js'
import { ClusterWorld } from '../worlds/cluster-world.js'
import { suiteOf } from '../worlds/suite.js'

/** Nodes that share a log, one of which has an engine whose error the others must detect. */
export const suite = suiteOf(CLUSTER_GENERATORS, schedule => new ClusterWorld(schedule, true).run())
