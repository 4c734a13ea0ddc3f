import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePorts } from './free-port.js'
import { NATS_SERVER } from './services.js'

interface NatsServer {
  readonly client: number
  readonly folder: string
  readonly file: string
}

/** NATS servers in separate processes, which form a cluster with JetStream and flush each write to disk. */
export class NatsCluster {
  readonly #folder: string
  readonly #servers: readonly NatsServer[]
  readonly #processes: (ChildProcess | undefined)[] = []

  private constructor(folder: string, servers: readonly NatsServer[]) {
    this.#folder = folder
    this.#servers = servers
  }

  /** Resolves when all servers run. @param more - lines to add to the configuration of each server */
  static async start(size = 3, more: readonly string[] = []): Promise<NatsCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'nats-'))
    const ports = await freePorts(2 * size)
    const routes = ports.slice(size).map(port => `nats://127.0.0.1:${port}`)
    const servers = await Promise.all(
      ports.slice(0, size).map(async (client, at) => {
        const own = join(folder, String(at))
        await mkdir(own)
        const file = join(own, 'nats.conf')
        const cluster = `cluster { name: spec, listen: "127.0.0.1:${ports[size + at]}", routes: [${routes.join(', ')}] }`
        const lines = [
          `server_name: n${at}`,
          `listen: "127.0.0.1:${client}"`,
          `jetstream { store_dir: ${JSON.stringify(own)}, sync_interval: always }`,
          size > 1 ? cluster : '',
          ...more,
        ]
        await writeFile(file, lines.join('\n'))
        return { client, folder: own, file }
      }),
    )
    const cluster = new NatsCluster(folder, servers)
    await Promise.all(servers.map(async (_, at) => cluster.run(at)))
    return cluster
  }

  /** The addresses for clients. */
  get servers(): string[] {
    return this.#servers.map(({ client }) => `nats://127.0.0.1:${client}`)
  }

  /** Starts or restarts a server. */
  async run(at: number): Promise<void> {
    const { file = '' } = this.#servers[at] ?? {}
    const child = spawn(NATS_SERVER ?? '', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#processes[at] = child
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', code => reject(new Error(`nats-server ended (${code})`)))
      createInterface({ input: child.stderr }).on('line', line => {
        if (/Server is ready/.test(line)) resolve()
      })
    })
  }

  /** Kills a server, as in a power cut. */
  async kill(at: number): Promise<void> {
    const child = this.#processes[at]
    this.#processes[at] = undefined
    if (child === undefined) return
    await new Promise<void>(resolve => {
      child.once('exit', () => resolve())
      child.kill('SIGKILL')
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map(async (_, at) => this.kill(at)))
    await rm(this.#folder, { recursive: true, force: true })
  }
}
