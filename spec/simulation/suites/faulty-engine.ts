import { clusterScheduleOf } from '../cluster-schedule.js'
import { simulateCluster } from '../cluster-world.js'
import { suiteOf } from '../suite.js'

/** Nodes that share a log, where one engine makes an error that the others must detect. */
export const suite = suiteOf(clusterScheduleOf, schedule => simulateCluster(schedule, true))
