import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { FailedFilesReporter } from './spec/support/failed-files-reporter.js'
import { QuietReporter } from './spec/support/quiet-reporter.js'

/** The seed of properties, simulations and the order of tests. Only `npm run nightly` chooses another one each time. */
const seed = Number(process.env['SEED'] ?? 1)

/**
 * Specs that mock modules, patch prototypes, count the resources of a process or fill its memory. Each file runs in a
 * separate process.
 */
const ISOLATED = [
  'spec/client/session/plain-events.spec.ts',
  'spec/server/host/close.spec.ts',
  'spec/server/metrics/rate-limit.spec.ts',
  'spec/server/broker/differential/*.spec.ts',
  'spec/system/{attacks/fuzz,broker/differential,interop,packaging}/**/*.spec.ts',
  'spec/system/pubsub/runtimes.spec.ts',
]
/** The simulations, each of which runs many schedules in the full run. */
const SIMULATIONS = ['spec/**/*simulation*.spec.ts']
/**
 * The spec that shows that the simulations notice a removed safeguard. Each mutant runs in a separate thread, several
 * at a time.
 */
const MUTANTS = ['spec/mutants/mutants.spec.ts']
/** Specs that need a browser and the built package, which is built once for all of them. */
const PAGES = ['spec/system/{browser,frameworks,optimistic,react}/**/*.spec.ts']
/**
 * Specs that measure a client during an attack, which nothing else on the machine may disturb. Specs of attacks that
 * judge no durations are in `untimed`, and run together with all others.
 */
const ATTACKS = ['spec/system/attacks/*.spec.ts']

/** `npm run test:all` runs failed files again. */
function failedFiles(): FailedFilesReporter[] {
  const path = process.env['FAILED_FILES']
  return path === undefined ? [] : [new FailedFilesReporter(path)]
}

const versionOf = (name: string): unknown =>
  JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')).version

/** Returns whether the installed mqtt.js is the oldest supported version, so that all specs run with it. */
const isInstalledOldest = (): boolean => versionOf('mqtt') === versionOf('mqtt-oldest')

/**
 * `vitest run`, which is `npm test`, runs the specs that need only Node and this process; `--mode all` runs everything,
 * in larger numbers, with the brokers, browsers, runtimes and languages that the specs of `spec/system` need.
 */
export default defineConfig(async ({ mode }) => {
  const isFull = mode === 'all'
  if (process.env['SEED'] !== undefined) console.info(`SEED=${seed}`)
  // This asks each program for its version, and some leave files in the home directory, so `npm test` skips it.
  const services = isFull ? await import('./spec/support/services.js') : undefined
  const missing = services?.missingFiles() ?? []

  const project = (name: string, include: readonly string[], exclude: readonly string[], isolate: boolean) => ({
    test: {
      name,
      isolate,
      include: [...include],
      exclude: ['**/node_modules/**', ...exclude],
      setupFiles: ['spec/support/property-runs.ts'],
      ...(!isFull && { tagsFilter: ['!slow'] }),
      testTimeout: 20_000,
      hookTimeout: 20_000,
      expect: { poll: { timeout: 10_000 } },
      // Specs cause these warnings on purpose. They are not printed, but specs still receive them.
      execArgv: ['--disable-warning=RX_STATESTORE_SECURITY', '--disable-warning=RX_STATESTORE_STRAY_FILE'],
      env: {
        SEED: String(seed),
        EFFORT: process.env['EFFORT'] ?? (isFull ? 'full' : 'quick'),
        // The server is found through the system's temporary folder, which specs do not see.
        ...(services?.NATS_SERVER && { NATS_SERVER: services.NATS_SERVER }),
      },
    },
  })
  const unit = project('unit', ['spec/**/*.spec.ts'], ['spec/system/**', ...ISOLATED, ...MUTANTS], false)
  // The console imports the package, which `npm test` does not build.
  const sources = [{ find: /^rx-statestore$/, replacement: resolve('src/client/index.ts') }]
  const quick = [{ ...unit, resolve: { alias: sources } }, project('isolated', ISOLATED, ['spec/system/**'], true)]
  const pages = project('pages', PAGES, missing, false)
  const attacks = project('attacks', ATTACKS, missing, false)
  const oldest = project('oldest mqtt.js', ['spec/client/{session,connect}/*.spec.ts'], ISOLATED, false)
  const full = [
    project('isolated', [...ISOLATED, ...SIMULATIONS], missing, true),
    {
      test: {
        ...pages.test,
        globalSetup: 'spec/system/browser/support/setup.ts',
        // A busy machine may take this long to build and open a page, and to show a change.
        testTimeout: 120_000,
        hookTimeout: 120_000,
        expect: { poll: { timeout: 30_000 } },
      },
    },
    project(
      'together',
      ['spec/**/*.spec.ts'],
      [...ISOLATED, ...SIMULATIONS, ...MUTANTS, ...PAGES, ...ATTACKS, ...missing],
      false,
    ),
    // Each test of this file keeps a core busy, next to other files.
    { test: { ...project('mutants', MUTANTS, [], false).test, maxConcurrency: 2 } },
    ...(isInstalledOldest()
      ? []
      : [
          {
            // Slow tests wait for timeouts of this package or measure its memory, so they need not run with the oldest
            // mqtt.js.
            test: { ...oldest.test, tagsFilter: ['!slow'] },
            resolve: { alias: [{ find: /^mqtt$/, replacement: 'mqtt-oldest' }] },
          },
        ]),
    { test: { ...attacks.test, testTimeout: 60_000, maxWorkers: 1, sequence: { groupOrder: 1 } } },
  ]
  return {
    test: {
      projects: isFull ? full : quick,
      globalSetup: 'spec/support/temporary-folder.ts',
      tags: [{ name: 'slow', description: 'Waits, or needs a large number; not for `npm test`.' }],
      sequence: { seed, shuffle: { files: false, tests: true } },
      // The full run uses one worker more than there are cores, because many specs wait for processes and networks. A
      // percentage can be at most 100.
      maxWorkers: isFull ? availableParallelism() + 1 : '100%',
      reporters: isFull ? ['default', ...failedFiles()] : [new QuietReporter()],
      silent: 'passed-only',
      coverage: {
        provider: 'custom',
        customProviderModule: 'spec/support/coverage.ts',
        include: ['src/**/*.ts'],
        reporter: ['text-summary', 'json-summary'],
        thresholds: { lines: 90 },
      },
    },
  }
})
