import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ManagedProcess, startProgram } from '../managed-process.js'
import type { Run } from '../run.js'
import { Mesh } from './mesh.js'

/** The ping interval. A server gives up a silent route after twice this time. */
const PING_EVERY = '3s'

/** NATS servers with JetStream that flush each write to disk, with links between them. */
export class NatsServers {
  readonly routes
  readonly processes: readonly ManagedProcess[]
  /** The ports for clients. */
  readonly ports
  #directory
  #routePorts

  /** @param ports - two ports for each server, for clients and for routes */
  constructor(program: string, run: Run, ports: readonly number[]) {
    this.#directory = run.directory
    this.ports = ports.slice(0, ports.length / 2)
    this.#routePorts = ports.slice(ports.length / 2)
    this.routes = new Mesh(this.ports.length, this.#routePorts, run.random.fork(), true)
    this.processes = this.ports.map((_, at) => {
      const folder = this.#folder(at)
      const note = (line: string) => writeFileSync(join(folder, 'log'), `${line}\n`, { flag: 'a' })
      return new ManagedProcess(
        nameOf(at),
        () => startProgram(program, ['-c', join(folder, 'nats.conf')], /Server is ready/, note),
        what => run.violations.add('process', what),
      )
    })
  }

  /** The folders of the servers. */
  get folders() {
    return this.ports.map((_, at) => this.#folder(at))
  }

  /** Starts the servers. Resolves when all servers are running. */
  async start() {
    const routes = await this.routes.listen()
    for (const [at, others] of routes.entries()) this.#configure(at, others)
    await Promise.all(this.processes.map(server => server.start()))
  }

  async stop() {
    await Promise.all(this.processes.map(server => server.kill()))
    await this.routes.close()
  }

  /** @param others - ports of the links to the other servers */
  #configure(at: number, others: readonly number[]) {
    const folder = this.#folder(at)
    mkdirSync(folder, { recursive: true })
    const routes = others.map(port => `nats://127.0.0.1:${port}`).join(', ')
    const lines = [
      `server_name: ${nameOf(at)}`,
      `listen: "127.0.0.1:${this.ports[at]}"`,
      `jetstream { store_dir: ${JSON.stringify(folder)}, sync_interval: always }`,
      'cluster {',
      '  name: chaos',
      `  listen: "127.0.0.1:${this.#routePorts[at]}"`,
      // Clients and servers must not learn addresses that bypass the links, so a server advertises the discard port,
      // where no process listens.
      '  no_advertise: true',
      '  advertise: "127.0.0.1:9"',
      `  routes: [${routes}]`,
      `  ping_interval: "${PING_EVERY}"`,
      '}',
    ]
    writeFileSync(join(folder, 'nats.conf'), lines.join('\n'))
  }

  #folder(at: number) {
    return join(this.#directory, nameOf(at))
  }
}

const nameOf = (at: number) => `nats-${at}`
