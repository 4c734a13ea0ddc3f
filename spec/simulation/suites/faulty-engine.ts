import { clusterScheduleOf } from '../cluster-schedule.js'
import { simulateCluster } from '../cluster-world.js'
import { suiteOf } from '../suite.js'

/** Simulates nodes that share a log, one of which has an engine whose error the others must detect. */
export const suite = suiteOf(clusterScheduleOf, schedule => simulateCluster(schedule, true))
