import { clusterScheduleOf } from '../cluster-schedule.js'
import { simulateCluster } from '../cluster-world.js'
import { suiteOf } from '../suite.js'

/** Nodes of a store that share a log, where one engine makes an error that the others have to find. */
export const suite = suiteOf(clusterScheduleOf, schedule => simulateCluster(schedule, true))
