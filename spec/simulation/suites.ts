import { scheduleOf as pubSubScheduleOf } from '../pubsub/simulation/schedule.js'
import { simulate as simulatePubSub } from '../pubsub/simulation/simulate.js'
import { reportOf as brokerReportOf, violationsOf as brokerViolationsOf } from '../server/broker/simulation/simulate.js'
import { besideScheduleOf } from './beside-schedule.js'
import { clusterScheduleOf } from './cluster-schedule.js'
import { simulateCluster } from './cluster-world.js'
import { scheduleOf } from './generators.js'
import { globScheduleOf } from './glob-schedule.js'
import { simulateGlobs } from './glob-world.js'
import { leaseScheduleOf } from './lease-schedule.js'
import { simulateLeases } from './lease-simulate.js'
import { nodeScheduleOf } from './node-schedule.js'
import { optimisticScheduleOf } from './optimistic-schedule.js'
import { simulateOptimistic } from './optimistic-world.js'
import { shadowScheduleOf } from './shadow-schedule.js'
import { simulateShadows } from './shadow-world.js'
import { simulate } from './simulate.js'
import { type Suite, suiteOf } from './suite.js'

/** All simulations there are, by name. */
export const SUITES = {
  watch: suiteOf(scheduleOf, schedule => simulate(schedule)),
  nodes: suiteOf(nodeScheduleOf, schedule => simulate(schedule)),
  beside: suiteOf(besideScheduleOf, schedule => simulate(schedule)),
  cluster: suiteOf(clusterScheduleOf, schedule => simulateCluster(schedule)),
  glob: suiteOf(globScheduleOf, simulateGlobs),
  lease: suiteOf(leaseScheduleOf, simulateLeases),
  optimistic: suiteOf(optimisticScheduleOf, simulateOptimistic),
  shadow: suiteOf(shadowScheduleOf, simulateShadows),
  broker: { violations: brokerViolationsOf, report: brokerReportOf },
  pubsub: suiteOf(pubSubScheduleOf, schedule => simulatePubSub(schedule)),
} as const satisfies Record<string, Suite>

export type SuiteName = keyof typeof SUITES
