import { PUBSUB_GENERATORS } from '../pubsub/simulation/schedule.js'
import { World as PubSubWorld } from '../pubsub/simulation/world.js'
import { BROKER_GENERATORS } from '../server/broker/simulation/schedule.js'
import { World as BrokerWorld } from '../server/broker/simulation/world.js'
import { CLUSTER_GENERATORS } from './cluster-schedule.js'
import { ClusterWorld } from './cluster-world.js'
import { GLOB_GENERATORS } from './glob-schedule.js'
import { GlobWorld } from './glob-world.js'
import { LEASE_GENERATORS } from './lease-schedule.js'
import { LeaseWorld } from './lease-world.js'
import { OPTIMISTIC_GENERATORS } from './optimistic-schedule.js'
import { OptimisticWorld } from './optimistic-world.js'
import { SHADOW_GENERATORS } from './shadow-schedule.js'
import { ShadowWorld } from './shadow-world.js'
import { type Suite, suiteOf } from './suite.js'
import { besideSchedule, nodeSchedule, WATCH_GENERATORS, type WatchSchedule } from './watch-schedule.js'
import { WatchWorld } from './watch-world.js'

const watch = (schedule: WatchSchedule): readonly string[] => new WatchWorld(schedule).run()

/**
 * The simulations. Each has a schedule, which is what happens, a world, which makes it happen, and an oracle
 * or a judge of `spec/judges`, which compares what the clients emit with what the store did.
 */
export const SUITES = {
  /** Watched keys of clients at one broker. */
  watch: suiteOf(WATCH_GENERATORS, watch),
  /** Watched keys of clients that move between the nodes of a store. */
  nodes: suiteOf([nodeSchedule], watch),
  /** Watched keys of an attached store. */
  beside: suiteOf([besideSchedule], watch),
  /** Nodes of a store that share a log. */
  cluster: suiteOf(CLUSTER_GENERATORS, schedule => new ClusterWorld(schedule, false).run()),
  /** Nodes that share a log, one of which has an engine whose error the others must detect. */
  'faulty-engine': suiteOf(CLUSTER_GENERATORS, schedule => new ClusterWorld(schedule, true).run()),
  glob: suiteOf(GLOB_GENERATORS, schedule => new GlobWorld(schedule).run()),
  lease: suiteOf(LEASE_GENERATORS, schedule => new LeaseWorld(schedule).run()),
  optimistic: suiteOf(OPTIMISTIC_GENERATORS, schedule => new OptimisticWorld(schedule).run()),
  shadow: suiteOf(SHADOW_GENERATORS, schedule => new ShadowWorld(schedule).run()),
  broker: suiteOf(BROKER_GENERATORS, schedule => new BrokerWorld(schedule).run()),
  pubsub: suiteOf(PUBSUB_GENERATORS, schedule => new PubSubWorld(schedule).run()),
} as const satisfies Record<string, Suite>

export type SuiteName = keyof typeof SUITES
