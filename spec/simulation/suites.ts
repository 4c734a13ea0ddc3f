import { suite as beside } from './suites/beside.js'
import { suite as broker } from './suites/broker.js'
import { suite as cluster } from './suites/cluster.js'
import { suite as faultyEngine } from './suites/faulty-engine.js'
import { suite as glob } from './suites/glob.js'
import { suite as lease } from './suites/lease.js'
import { suite as nodes } from './suites/nodes.js'
import { suite as optimistic } from './suites/optimistic.js'
import { suite as pubsub } from './suites/pubsub.js'
import { suite as shadow } from './suites/shadow.js'
import { suite as wake } from './suites/wake.js'
import { suite as watch } from './suites/watch.js'
import type { Suite } from './worlds/suite.js'

/**
 * The simulations. Each has a schedule, which is what happens, a world, which makes it happen, and an oracle
 * or a judge of `harness/judges`, which compares what the clients emit with what the store did. Each is also a file, so that
 * a mutant loads only the sources of its simulation.
 */
export const SUITES = {
  watch,
  nodes,
  beside,
  cluster,
  'faulty-engine': faultyEngine,
  glob,
  lease,
  optimistic,
  shadow,
  broker,
  pubsub,
  wake,
} as const satisfies Record<string, Suite>

export type SuiteName = keyof typeof SUITES
