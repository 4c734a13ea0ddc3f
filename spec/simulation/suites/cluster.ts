import { clusterScheduleOf } from '../cluster-schedule.js'
import { simulateCluster } from '../cluster-world.js'
import { suiteOf } from '../suite.js'

/** Nodes of a store that share a log. */
export const suite = suiteOf(clusterScheduleOf, schedule => simulateCluster(schedule))
