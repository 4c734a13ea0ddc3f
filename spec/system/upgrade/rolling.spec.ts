import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { type StateStore, text } from '../../../src/client/index.js'
import { ROOT } from '../../support/compile-package.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'
import { launch, type RunningProgram } from '../../support/running-program.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The packed package of the previous version. `npm run nightly -- upgrade --from FILE` sets it. */
const FROM = process.env['UPGRADE_FROM']
const WRITERS = 4
/** The acknowledged writes of all writers between two steps. */
const WRITES_PER_STEP = 200
/** The failed writes of each writer, of which each end of a node explains one. */
const MAX_FAILURES = 100

/** Unpacks a package beside links to its dependencies, and returns the path of its command line. */
function unpack(tarball: string, folder: string): string {
  mkdirSync(folder)
  execFileSync('tar', ['-xzf', tarball, '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'package/dist/cli/main.js')
}

function packThisVersion(folder: string): string {
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT, stdio: 'pipe' })
  const [file] = readdirSync(folder).filter(name => name.endsWith('.tgz'))
  if (file === undefined) throw new Error('npm pack wrote no package')
  return join(folder, file)
}

/** A node that runs in a separate process, in one version after the other. */
class UpgradableNode {
  readonly url: string
  readonly #flags: readonly string[]
  #program: RunningProgram | undefined

  constructor(nodeId: string, port: number, servers: readonly string[]) {
    this.url = `mqtt://127.0.0.1:${port}`
    const log = ['--log', servers.join(','), '--log-name', 'upgrade', '--node-id', nodeId]
    this.#flags = ['serve', '--json', '--port', String(port), '--ws-port', '0', ...log]
  }

  async start(main: string): Promise<void> {
    const args = [main, ...this.#flags]
    this.#program = launch(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await this.#program.line()
  }

  /** Ends the node as an operator does, and returns its exit code. */
  async stop(): Promise<unknown> {
    const [code] = (await this.#program?.end('SIGTERM')) ?? []
    return code
  }
}

/** Writes one key after the other, and remembers which writes were acknowledged. */
class Writer {
  readonly acknowledged = new Map<string, string>()
  #failures = 0
  #isStopping = false
  readonly #finished: Promise<void>

  constructor(store: StateStore, name: string) {
    this.#finished = this.#run(store, name)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#finished
  }

  async #run(store: StateStore, name: string): Promise<void> {
    for (let number = 0; !this.#isStopping; number++) {
      const key = `${name}/${number}`
      try {
        const { version } = await store.key(key, text).set(String(number))
        this.acknowledged.set(key, String(version))
      } catch (error) {
        // The node may have ended before it read the write, or before its response was sent.
        if (++this.#failures > MAX_FAILURES) throw error
      }
    }
  }
}

it.skipIf(FROM === undefined)(
  'three nodes are upgraded one by one under load, and no acknowledged write is lost',
  { timeout: 240_000 },
  async () => {
    const folder = temporaryFolder()
    const [before, after] = [
      unpack(FROM ?? '', join(folder, 'before')),
      unpack(packThisVersion(folder), join(folder, 'after')),
    ]
    const nats = await NatsCluster.start()
    onTestFinished(async () => nats.stop())
    const nodes = await Promise.all(
      ['a', 'b', 'c'].map(async id => new UpgradableNode(id, await freePort(), nats.servers)),
    )
    await Promise.all(nodes.map(async node => node.start(before)))

    const urls = nodes.map(({ url }) => url)
    const writers = Array.from({ length: WRITERS }, (_, i) => {
      const order = urls.map((_url, at) => urls[(i + at) % urls.length] ?? '')
      return new Writer(openClient(order), `writer-${i}`)
    })
    const count = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)
    const writeMore = async (): Promise<void> => {
      const goal = count() + WRITES_PER_STEP
      await expect.poll(count, { timeout: 60_000, interval: 50 }).toBeGreaterThanOrEqual(goal)
    }

    await writeMore()
    for (const node of nodes) {
      expect(await node.stop()).toBe(0)
      await writeMore()
      await node.start(after)
      await writeMore()
    }
    for (const writer of writers) await writer.stop()

    for (const url of urls) {
      const client = openClient(url)
      for (const { acknowledged } of writers)
        for (const [key, version] of acknowledged) {
          const entry = await client.key(key, text).get()
          expect(`${key} ${String(entry.version)}`).toBe(`${key} ${version}`)
        }
    }
  },
)
