import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ManagedProcess, startProgram } from '../managed-process.js'
import type { Random } from '../random.js'
import { Mesh } from './mesh.js'

const SERVERS = 3
/** The ping interval. A server gives up a silent route after twice this time. */
const PING_EVERY = '3s'

/** Three NATS servers with JetStream that flush each write to disk, with links between them. */
export class NatsServers {
  routes
  processes: readonly ManagedProcess[]
  #directory
  #program
  #ports

  /** @param ports - client port and route port of each server */
  constructor(
    program: string,
    directory: string,
    ports: readonly number[],
    complain: (what: string) => void,
    random: Random,
  ) {
    this.#program = program
    this.#directory = directory
    this.#ports = { clients: ports.slice(0, SERVERS), routes: ports.slice(SERVERS, 2 * SERVERS) }
    this.routes = new Mesh(SERVERS, this.#ports.routes, random, true)
    this.processes = Array.from(
      { length: SERVERS },
      (_, at) => new ManagedProcess(nameOf(at), () => this.#run(at), complain),
    )
  }

  static get ports() {
    return 2 * SERVERS
  }

  get ports() {
    return this.#ports.clients
  }

  /** Starts the servers. Resolves when all servers are running. */
  async start() {
    const routes = await this.routes.listen()
    for (const [at, others] of routes.entries()) this.#configure(at, others)
    await Promise.all(this.processes.map(each => each.start()))
  }

  byName(name: string | undefined) {
    return this.processes.find(each => each.name === name)
  }

  async stop() {
    await Promise.all(this.processes.map(each => each.kill()))
    await this.routes.close()
  }

  /** @param others - ports of the links to the other servers */
  #configure(at: number, others: readonly number[]) {
    const folder = this.#folder(at)
    mkdirSync(folder, { recursive: true })
    const routes = others.map(port => `nats://127.0.0.1:${port}`).join(', ')
    const lines = [
      `server_name: ${nameOf(at)}`,
      `listen: "127.0.0.1:${this.#ports.clients[at]}"`,
      `jetstream { store_dir: ${JSON.stringify(folder)}, sync_interval: always }`,
      'cluster {',
      '  name: chaos',
      `  listen: "127.0.0.1:${this.#ports.routes[at]}"`,
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

  #run(at: number) {
    const folder = this.#folder(at)
    const note = (line: string) => writeFileSync(join(folder, 'log'), `${line}\n`, { flag: 'a' })
    return startProgram(this.#program, ['-c', join(folder, 'nats.conf')], /Server is ready/, note)
  }

  #folder(at: number) {
    return join(this.#directory, nameOf(at))
  }
}

const nameOf = (at: number) => `nats-${at}`
