import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePorts } from '../../harness/free-port.js'
import { RunningProgram } from './running-program.js'
import { NATS_SERVER } from './services.js'
import { temporaryFolder } from './temporary-folder.js'

/** The interval in ms at which a server is asked whether it is healthy. */
const POLL_MS = 20

interface NatsServer {
  readonly client: number
  /** The port of the monitoring. */
  readonly monitor: number
  readonly folder: string
  readonly file: string
}

/** NATS servers in separate processes, which form a cluster with JetStream and flush each write to disk. */
export class NatsCluster {
  readonly #folder: string
  readonly #servers: readonly NatsServer[]
  readonly #programs: (RunningProgram | undefined)[] = []

  private constructor(folder: string, servers: readonly NatsServer[]) {
    this.#folder = folder
    this.#servers = servers
  }

  /** Resolves when all servers can be used. @param more - lines to add to the configuration of each server */
  static async start(size = 3, more: readonly string[] = []): Promise<NatsCluster> {
    const folder = temporaryFolder()
    const ports = await freePorts(3 * size)
    const routes = ports.slice(size, 2 * size).map(port => `nats://127.0.0.1:${port}`)
    const servers = await Promise.all(
      ports.slice(0, size).map(async (client, at) => {
        const own = join(folder, String(at))
        await mkdir(own)
        const file = join(own, 'nats.conf')
        const monitor = ports[2 * size + at] ?? 0
        const cluster = `cluster { name: spec, listen: "127.0.0.1:${ports[size + at]}", routes: [${routes.join(', ')}] }`
        const lines = [
          `server_name: n${at}`,
          `listen: "127.0.0.1:${client}"`,
          `http: "127.0.0.1:${monitor}"`,
          `jetstream { store_dir: ${JSON.stringify(own)}, sync_interval: always }`,
          size > 1 ? cluster : '',
          ...more,
        ]
        await writeFile(file, lines.join('\n'))
        return { client, monitor, folder: own, file }
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

  /**
   * Starts or restarts a server. Resolves when the server has a leader and all messages. An earlier request would be
   * rejected or not answered.
   *
   * @param change - changes its configuration
   */
  async run(at: number, change: (configuration: string) => string = same => same): Promise<void> {
    const { file = '', monitor = 0 } = this.#servers[at] ?? {}
    await writeFile(file, change(await readFile(file, 'utf8')))
    const program = new RunningProgram(NATS_SERVER ?? '', ['-c', file])
    this.#programs[at] = program
    await program.line(/Server is ready/)
    while (program.isRunning && !(await isHealthy(monitor))) await setTimeout(POLL_MS)
    if (!program.isRunning) await program.ended
  }

  /** Kills a server, as in a power cut. */
  async kill(at: number): Promise<void> {
    const program = this.#programs[at]
    this.#programs[at] = undefined
    await program?.end()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map(async (_, at) => this.kill(at)))
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Returns whether the server with this monitoring port has contact with a leader and lags in no stream. */
const isHealthy = async (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
