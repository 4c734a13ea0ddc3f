import type { SuiteName } from '../simulation/suites.js'
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
import { wake } from './wake.js'
import { watch } from './watch.js'

const MUTANTS: readonly (readonly [SuiteName, Mutants])[] = [
  ['watch', watch],
  ['nodes', nodes],
  ['beside', beside],
  ['glob', glob],
  ['lease', lease],
  ['optimistic', optimistic],
  ['shadow', shadow],
  ['cluster', cluster],
  ['faulty-engine', faultyEngine],
  ['broker', broker],
  ['pubsub', pubsub],
  ['wake', wake],
]

/** All mutants. */
export const CASES: readonly Case[] = MUTANTS.flatMap(([simulation, files]) =>
  Object.entries(files).flatMap(([file, mutants]) =>
    Object.entries(mutants).map(([safeguard, mutant]) => ({ simulation, safeguard, file, mutant })),
  ),
)
