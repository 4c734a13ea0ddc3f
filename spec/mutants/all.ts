import { beside } from './beside.js'
import { broker } from './broker.js'
import { cluster, faultyEngine } from './cluster.js'
import { glob } from './glob.js'
import { lease } from './lease.js'
import type { Case, Mutants } from './mutant.js'
import { nodes } from './nodes.js'
import { optimistic } from './optimistic.js'
import { pubsub } from './pubsub.js'
import { shadow } from './shadow.js'
import { watch } from './watch.js'

const BY_SIMULATION: Readonly<Record<string, Mutants>> = {
  ...{ watch, nodes, beside, glob, lease, optimistic, shadow, cluster, broker, pubsub },
  'faulty-engine': faultyEngine,
}

/** All mutants. */
export const CASES: readonly Case[] = Object.entries(BY_SIMULATION).flatMap(([simulation, files]) =>
  Object.entries(files).flatMap(([file, mutants]) =>
    Object.entries(mutants).map(([safeguard, mutant]) => ({ simulation, safeguard, file, mutant })),
  ),
)

/** The simulations that have mutants. */
export const SIMULATIONS: readonly string[] = Object.keys(BY_SIMULATION)
