import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { some } from './effort.js'
import LongestFirst from './longest-first.js'
import { QuietReporter } from './quiet-reporter.js'
import { SERVICES } from './services.js'

/** The gate counts what is covered and says everything; a developer hears of what went wrong, and of nothing else. */
const GATE = process.env['CI'] !== undefined

/** Vitest would leave one core idle, which is half of a small machine. Pages have processes of their own: more workers slow the gate down. */
const WORKERS = GATE ? '100%' : Math.ceil(1.5 * availableParallelism())

/** What needs a page, a package or a browser of its own making, which are made once for all of it. */
const PAGES = [
  'spec/browser/**/*.spec.ts',
  'spec/frameworks/*.spec.ts',
  'spec/react/browser.spec.ts',
  'spec/optimistic/browser/*.spec.ts',
]
/** What takes the time of an innocent client beside an attack: nothing else may keep the machine busy. */
const ATTACKS = readdirSync(new URL('../attacks', import.meta.url))
  .filter(name => name.endsWith('.spec.ts'))
  .map(name => `spec/attacks/${name}`)
/** All of them, unless a developer has asked for none by name: then a few, never the same. */
const ATTACKS_TRIED = process.argv.some(word => word.includes('attacks')) ? ATTACKS : some(ATTACKS, 3)
const UNTRIED = ATTACKS.length - ATTACKS_TRIED.length
if (UNTRIED > 0)
  console.info(`left out: ${UNTRIED} of ${ATTACKS.length} files of attacks, others each time (all: npm test attacks)`)
/** What mocks modules, changes or counts what a whole process has, or fills its memory: each file in a process of its own. */
const APART = [
  'spec/**/*mutants.spec.ts',
  'spec/**/*simulation*.spec.ts',
  'spec/attacks/fuzz/*.spec.ts',
  'spec/broker/differential/*.spec.ts',
  'spec/mqtt/plain-events.spec.ts',
  'spec/interop/*.spec.ts',
  'spec/packaging/*.spec.ts',
  'spec/pubsub/runtimes.spec.ts',
  'spec/server/close.spec.ts',
]
/** What makes certificates from its first line on. */
const CERTIFICATES = [
  'spec/attacks/strangers.spec.ts',
  'spec/broker/foreign/mosquitto-tls.spec.ts',
  'spec/cli/authentication.spec.ts',
  'spec/cli/ten-commands.spec.ts',
  'spec/console/tls.spec.ts',
  'spec/pubsub/hub/tls.spec.ts',
  'spec/server/several-tls.spec.ts',
  'spec/server/stolen-certificates.spec.ts',
  'spec/server/tls.spec.ts',
]
/** The second half of simulations that the gate runs on two cores at once. */
const SECOND_HALVES = ['spec/**/*simulation-2.spec.ts']
const NOT_OURS = [
  '**/node_modules/**',
  ...(SERVICES.openssl.present ? [] : CERTIFICATES),
  ...(GATE ? [] : SECOND_HALVES),
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
  ...project('oldest mqtt.js', ['spec/mqtt/*.spec.ts', 'spec/client/*.spec.ts'], APART, false),
  resolve: { alias: [{ find: /^mqtt$/, replacement: 'mqtt-oldest' }] },
}
const pages = project('pages', PAGES, [], false)
const attacks = project('attacks', ATTACKS_TRIED, [], true)

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    globalSetup: 'spec/support/services.ts',
    projects: [
      project('apart', APART, PAGES, true),
      { test: { ...pages.test, globalSetup: 'spec/browser/support/setup.ts' } },
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
