import { clusterScheduleOf } from '../cluster-schedule.js'
import { simulateCluster } from '../cluster-world.js'
import { suiteOf } from '../suite.js'

/** Simulates nodes of a store that share a log. */
export const suite = suiteOf(clusterScheduleOf, schedule => simulateCluster(schedule))
