import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { Random } from '../simulation/random.js'

/** What takes longest, the longest first; a core that is left with one of them at the end has the other wait for it. */
const LONGEST = [
  'spec/system/crash/crash.spec.ts',
  'spec/system/attacks/fuzz/fuzz.spec.ts',
  'spec/system/broker/differential/disjoint.spec.ts',
  'spec/simulation/lease-simulation-1.spec.ts',
  'spec/simulation/lease-simulation-2.spec.ts',
  'spec/simulation/cluster-simulation-1.spec.ts',
  'spec/simulation/cluster-simulation-2.spec.ts',
  'spec/system/packaging/packaging.spec.ts',
  'spec/system/broker/differential/overlapping.spec.ts',
  'spec/system/interop/rust-client.spec.ts',
  'spec/pubsub/simulation/simulation.spec.ts',
  'spec/system/pubsub/runtimes.spec.ts',
  'spec/system/interop/mosquitto-crash.spec.ts',
  'spec/system/jetstream/nodes.spec.ts',
  'spec/system/browser/pubsub-behaviours.spec.ts',
  'spec/system/browser/console-looks.spec.ts',
  'spec/system/browser/thermostat.spec.ts',
  'spec/simulation/shadow-simulation.spec.ts',
  'spec/simulation/glob-mutants.spec.ts',
  'spec/system/cli/binary.spec.ts',
]

/**
 * Projects in the order in which they begin: the short files come late, which evens out how long the cores take; those of
 * the last run alone.
 */
const PROJECTS = ['apart', 'pages', 'together', 'attacks']

/** Starts the longest files first, and the others in the order of the seed, project by project: they share workers. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const random = new Random(this.ctx.config.sequence.seed)
    return files
      .map(file => ({
        file,
        project: PROJECTS.indexOf(file.project.name),
        rank: rankOf(file.moduleId),
        lot: random.next(),
      }))
      .sort((a, b) => a.project - b.project || a.rank - b.rank || a.lot - b.lot)
      .map(({ file }) => file)
  }
}

function rankOf(path: string): number {
  const rank = LONGEST.findIndex(longest => path.endsWith(longest))
  return rank < 0 ? LONGEST.length : rank
}
