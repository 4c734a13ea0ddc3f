import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { natsServer } from '../../scripts/nats-server.js'
import { hasNodeRed } from '../../scripts/node-red.js'

/** A program other than Node that a suite requires. */
export interface Service {
  readonly suite: string
  readonly needs: string
  readonly present: boolean
  /** The files that require this program. They are not even read without it. */
  readonly files: readonly string[]
}

/** The Chromium to run: the one that `CHROMIUM` names, or Debian's headless build, which needs a quarter less CPU. */
export const CHROMIUM = process.env['CHROMIUM'] ?? chromium()

const answers = (command: string): boolean => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
/** Tests whether a command exists if its version flag returns a failure. */
const exists = (command: string): boolean => spawnSync(command, ['-h'], { stdio: 'ignore' }).error === undefined

/** Returns whether a command is available in the version `major.minor` or later. */
function isFrom(least: string, command: string, ...args: readonly string[]): boolean {
  const { stdout = '' } = spawnSync(command, args, { encoding: 'utf8' })
  const [, version] = /(\d+\.\d+)/.exec(stdout ?? '') ?? []
  return version !== undefined && version.localeCompare(least, 'en', { numeric: true }) >= 0
}

/** The NATS server that the gate downloads, because Debian's version is too old. */
export const NATS_SERVER = natsServer()

const RUNTIMES = new URL('../system/runtimes/node_modules/', import.meta.url).pathname

function chromium(): string {
  const headless = '/usr/bin/chromium-headless-shell'
  return existsSync(headless) ? headless : '/usr/bin/chromium'
}

/** Returns the path of another Node version, as `npm run runtimes` installs it. */
export const runtimeOf = (version: number): string =>
  `${RUNTIMES}node-${version}-${process.platform}-${process.arch}/bin/node`

/** The compiler of the oldest supported TypeScript. */
export const OLDEST_TSC = `${RUNTIMES}typescript/bin/tsc`
export const BUN = `${RUNTIMES}bun-${process.platform}-${process.arch}/bin/bun`
export const DENO = `${RUNTIMES}deno-${process.platform}-${process.arch}/deno`

/** The programs other than Node that suites require. */
export const SERVICES = {
  rust: {
    suite: 'interop: the official Rust client',
    needs: 'cargo from 1.88',
    present: isFrom('1.88', 'cargo', '--version'),
    files: ['spec/system/interop/rust-client.spec.ts'],
  },
  mosquitto: {
    suite: 'broker: beside Mosquitto, and its clients; interop: a store attached to it',
    needs: 'mosquitto',
    present: exists('mosquitto'),
    files: [
      'spec/server/broker/differential/*.spec.ts',
      'spec/system/attacks/{forged-watches,retained-poison}.spec.ts',
      'spec/system/attacks/untimed/{forged-life,poison}.spec.ts',
      'spec/system/broker/foreign/mosquitto-*.spec.ts',
      'spec/system/browser/console-attached.spec.ts',
      'spec/system/interop/mosquitto*.spec.ts',
      'spec/system/retained/*.spec.ts',
    ],
  },
  go: {
    suite: 'interop: a store beside mochi; chaos: the checker of histories',
    needs: 'go from 1.21',
    present: isFrom('1.21', 'go', 'version'),
    files: [
      'spec/system/chaos/porcupine.spec.ts',
      'spec/system/interop/mochi.spec.ts',
      'spec/system/packaging/compose.spec.ts',
    ],
  },
  paho: {
    suite: 'broker: paho-mqtt',
    needs: 'pip',
    present: answers('pip'),
    files: ['spec/system/broker/foreign/paho.spec.ts'],
  },
  python: {
    suite: 'interop: the official Python client of pub/sub',
    needs: 'python3 with pip',
    present: spawnSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0,
    files: ['spec/system/pubsub/python/*.spec.ts'],
  },
  runtimes: {
    suite: 'runtimes: the package and pub/sub under Node 22 and 24, Bun and Deno',
    needs: '`npm run runtimes`',
    present: [runtimeOf(22), runtimeOf(24), BUN, DENO].every(answers),
    files: ['spec/system/pubsub/runtimes.spec.ts'],
  },
  nodeRed: {
    suite: 'interop: the nodes for Node-RED, in one',
    needs: '`npm run runtimes`',
    present: hasNodeRed,
    files: ['spec/system/interop/node-red.spec.ts'],
  },
  nginx: {
    suite: 'proxy: nginx in front of all of it',
    needs: 'nginx',
    present: exists('nginx'),
    files: ['spec/system/proxy/nginx.spec.ts', 'spec/system/packaging/compose.spec.ts'],
  },
  openssl: {
    suite: 'the documents: commands that create certificates and secrets',
    needs: 'openssl',
    present: exists('openssl'),
    files: ['spec/system/cli/ten-commands.spec.ts'],
  },
  nats: {
    suite: 'jetstream: several nodes on three NATS servers',
    needs: 'nats-server from 2.12, or NATS_SERVER with the name of one',
    present: NATS_SERVER !== undefined,
    files: [
      'spec/system/alerts/*.spec.ts',
      'spec/system/attacks/envelopes.spec.ts',
      'spec/system/jetstream/attached.spec.ts',
      'spec/system/jetstream/command-line.spec.ts',
      'spec/system/jetstream/found.spec.ts',
      'spec/system/jetstream/nodes.spec.ts',
      'spec/system/jetstream/restore-drill.spec.ts',
      'spec/system/jetstream/rights.spec.ts',
      'spec/system/jetstream/stalled.spec.ts',
      'spec/system/upgrade/rolling.spec.ts',
      'spec/system/packaging/compose.spec.ts',
    ],
  },
  prometheus: {
    suite: 'alerts: faults of a store that a real Prometheus scrapes; metrics and rules',
    needs: 'prometheus',
    present: exists('prometheus'),
    files: [
      'spec/system/alerts/*.spec.ts',
      'spec/system/packaging/alerts.spec.ts',
      'spec/system/packaging/metrics.spec.ts',
      'spec/system/packaging/compose.spec.ts',
    ],
  },
  zsh: {
    suite: 'completion: in zsh',
    needs: 'zsh',
    present: answers('zsh'),
    files: [],
  },
  chromium: {
    suite: 'browser: pages in a real browser',
    needs: 'chromium or chromium-headless-shell',
    present: answers(CHROMIUM),
    files: [
      'spec/system/browser/**/*.spec.ts',
      'spec/system/react/browser.spec.ts',
      'spec/system/optimistic/{outage,concurrent-writes,recipes}.spec.ts',
    ],
  },
  site: {
    suite: 'browser: the documentation site',
    needs: '`npm run docs`',
    present: existsSync(new URL('../../site/dist/index.html', import.meta.url)),
    files: ['spec/system/browser/documentation-site.spec.ts'],
  },
} as const satisfies Record<string, Service>

/** Specs that run only when a variable requests them, because they download hundreds of megabytes. */
const BY_HAND = {
  HIVEMQ: 'spec/system/interop/hivemq.spec.ts',
  TOOLCHAINS: 'spec/system/frameworks/toolchains.spec.ts',
}

/**
 * Returns the files that this machine cannot run, after printing a line for each missing service. In CI, a missing
 * service is a failure.
 */
export function missingFiles(): readonly string[] {
  const missing = Object.values(SERVICES).filter(({ present }) => !present)
  for (const { suite, needs } of missing) console.info(`missing: ${needs} (${suite})`)
  if (process.env['CI'] && missing.length > 0) throw new Error('services are missing, see above')
  const byHand = Object.entries(BY_HAND).flatMap(([variable, file]) => (process.env[variable] ? [] : [file]))
  return [...byHand, ...missing.flatMap(({ files }) => files)]
}
