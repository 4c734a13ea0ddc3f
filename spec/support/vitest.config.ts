import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import LongestFirst from './longest-first.js'
import { filesIn, leftOut } from './lots.js'
import { QuietReporter } from './quiet-reporter.js'
import { nameWhatIsMissing, SERVICES } from './services.js'

/** The gate counts what is covered and says everything; a developer hears of what went wrong, and of nothing else. */
const GATE = process.env['CI'] !== undefined

/** Vitest would leave one core idle, which is half of a small machine. Pages have processes of their own: more workers slow the gate down. */
const WORKERS = GATE ? '100%' : Math.ceil(1.5 * availableParallelism())

/** What needs a page, a package or a browser of its own making, which are made once for all of it. */
const PAGES = [
  'spec/system/browser/**/*.spec.ts',
  'spec/system/frameworks/*.spec.ts',
  'spec/system/react/browser.spec.ts',
  'spec/system/optimistic/*.spec.ts',
]
/** What takes the time of an innocent client beside an attack: nothing else may keep the machine busy. */
const ATTACKS = filesIn(['spec/system/attacks'], '.spec.ts')
/** What switches off the safeguards one by one, to see whether the simulations notice. */
const MUTANTS = filesIn(
  ['spec/server/broker/simulation', 'spec/pubsub/simulation', 'spec/simulation'],
  'mutants.spec.ts',
)
const SIMULATIONS = ['spec/**/*simulation*.spec.ts']
/** What mocks modules, changes or counts what a whole process has, or fills its memory: each file in a process of its own. */
const APART = [
  'spec/**/*mutants.spec.ts',
  // In small numbers they fill no memory.
  ...(GATE ? SIMULATIONS : []),
  'spec/system/attacks/fuzz/*.spec.ts',
  'spec/server/broker/differential/*.spec.ts',
  'spec/client/session/plain-events.spec.ts',
  'spec/system/interop/*.spec.ts',
  'spec/system/packaging/*.spec.ts',
  'spec/system/pubsub/runtimes.spec.ts',
  'spec/server/host/close.spec.ts',
]
/** The second half of simulations that the gate runs on two cores at once, and what Node has shown before. */
const FOR_THE_GATE = ['spec/**/*simulation-2.spec.ts', 'spec/system/browser/pubsub-behaviours.spec.ts']
const NOT_OURS = [
  '**/node_modules/**',
  ...Object.values(SERVICES).flatMap(({ present, files }) => (present ? [] : files)),
  ...(process.env['HIVEMQ'] ? [] : ['spec/system/interop/hivemq.spec.ts']),
  ...(GATE ? [] : FOR_THE_GATE),
  ...leftOut('attacks', ATTACKS, 1),
  ...leftOut('mutants', MUTANTS, 2),
]
const PATIENCE = { testTimeout: 20_000, hookTimeout: 20_000, expect: { poll: { timeout: 10_000 } } }
/** Stores of specs let everybody in, which is what they warn of. */
const QUIET = { execArgv: ['--disable-warning=RX_STATESTORE_ANONYMOUS'] }
const EFFORT = { setupFiles: GATE ? [] : ['spec/support/fewer-runs.ts'] }

const project = (name: string, include: readonly string[], exclude: readonly string[], isolate: boolean) => ({
  test: { ...PATIENCE, ...QUIET, ...EFFORT, name, include: [...include], exclude: [...NOT_OURS, ...exclude], isolate },
})
/** The client's connections, on the oldest mqtt.js of the range; all else runs on the newest. */
const oldest = {
  ...project('oldest mqtt.js', ['spec/client/session/*.spec.ts', 'spec/client/connect/*.spec.ts'], APART, false),
  resolve: { alias: [{ find: /^mqtt$/, replacement: 'mqtt-oldest' }] },
}
const pages = project('pages', PAGES, [], false)
const attacks = project('attacks', ATTACKS, [], true)

// Before vitest looks for files: one that is asked for by its name may be among those that are left out.
nameWhatIsMissing()
if (!GATE)
  console.info(
    'left out: second halves of simulations, pub/sub once more in a browser, the client on the oldest mqtt.js (all: CI=true npm test)',
  )

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    projects: [
      project('apart', APART, PAGES, true),
      { test: { ...pages.test, globalSetup: 'spec/system/browser/support/setup.ts' } },
      // Imported once in a worker, not once for each file: that took as long as all these specs together.
      project('together', ['spec/**/*.spec.ts'], [...APART, ...PAGES, ...ATTACKS], false),
      ...(GATE ? [oldest] : []),
      { test: { ...attacks.test, maxWorkers: 1 } },
    ],
    // The order of tests, and of the files that are not long.
    sequence: { sequencer: LongestFirst, shuffle: { files: false, tests: true } },
    maxWorkers: WORKERS,
    reporters: GATE ? ['default'] : [new QuietReporter()],
    // Seeds are among what is said, and are needed when something fails.
    silent: GATE ? false : 'passed-only',
    coverage: {
      enabled: GATE,
      provider: 'custom',
      customProviderModule: 'spec/support/coverage.ts',
      include: ['src/**/*.ts'],
      reporter: ['text', 'json-summary'],
      thresholds: { lines: 90 },
    },
  },
})
