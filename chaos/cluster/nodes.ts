import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { ManagedProcess, requestStats } from '../managed-process.js'
import type { Random } from '../random.js'
import { Mesh } from './mesh.js'

const NODES = 3
/** The time in ms that a node may take to start, which requires a log with a quorum and without faults on its links. */
const START_TIMEOUT_MS = 60_000
/**
 * The codes of errors with which a node may fail to start during an outage of the log. A supervisor would restart the
 * node.
 */
const OUTAGE_CODES = ['connection-lost', 'timeout']

export type NodeStats = { keys: number; hash: string; position: number; lag: number; nodes: number }

/** Three nodes of a store, with links to the servers of their log. */
export class StoreNodes {
  links
  processes: readonly ManagedProcess[]
  /** The number of failed starts during outages of the log, and the number of times that a node waited for the log. */
  counts = { retries: 0, waits: 0 }
  #name
  #directory
  #ports
  #complain
  #servers: number[][] = []

  /**
   * @param name - name of the store
   * @param directory - directory for the output of the nodes
   * @param ports - two ports per node
   * @param servers - ports of the servers
   */
  constructor(
    name: string,
    directory: string,
    ports: readonly number[],
    servers: readonly number[],
    complain: (what: string) => void,
    random: Random,
  ) {
    this.#name = name
    this.#directory = directory
    this.#ports = ports
    this.#complain = complain
    this.links = new Mesh(NODES, servers, random)
    this.processes = Array.from(
      { length: NODES },
      (_, at) => new ManagedProcess(idOf(at), () => this.#run(at), complain),
    )
  }

  static get ports() {
    return 2 * NODES
  }

  /** The client ports of each node. */
  get addresses() {
    return this.processes.map((_, at) => ({ port: this.#ports[2 * at] ?? 0, wsPort: this.#ports[2 * at + 1] ?? 0 }))
  }

  /** Starts the nodes. Resolves when all nodes are running. */
  async start() {
    this.#servers = await this.links.listen()
    await Promise.all(this.processes.map(each => each.start()))
  }

  stats(): Promise<NodeStats[]> {
    return Promise.all(this.processes.map(each => requestStats<NodeStats>(each)))
  }

  async stop() {
    await Promise.all(this.processes.map(each => each.terminate()))
    await this.links.close()
  }

  async #run(at: number) {
    const end = performance.now() + START_TIMEOUT_MS
    for (;;) {
      const found = await this.#try(at)
      if (!('failed' in found)) return found
      if (!OUTAGE_CODES.includes(found.failed) || performance.now() > end)
        throw new Error(`${idOf(at)} failed to start: ${found.failed} ${found.message}`)
      this.counts.retries++
    }
  }

  #try(at: number): Promise<ChildProcess | { failed: string; message: string }> {
    const { port, wsPort } = this.addresses[at] ?? {}
    const servers = (this.#servers[at] ?? []).map(server => `nats://127.0.0.1:${server}`).join(',')
    const args = [idOf(at), port, wsPort, servers, this.#name].map(String)
    const child = fork(new URL('./node-process.js', import.meta.url).pathname, args, { execArgv: [], silent: true })
    const output = createWriteStream(join(this.#directory, `${idOf(at)}.log`), { flags: 'a' })
    child.stdout?.pipe(output, { end: false })
    child.stderr?.pipe(output, { end: false })
    return new Promise(resolve => {
      let failure = { failed: 'ended', message: 'it printed nothing' }
      child.on('message', raw => {
        const message = raw as NodeMessage
        output.write(`${new Date().toISOString()} ${JSON.stringify(message).slice(0, 2_000)}\n`)
        if (message.ready) resolve(child)
        if (message.storage === 'waiting') this.counts.waits++
        if (message.fault !== undefined) this.#complain(`${idOf(at)} has a fault: ${message.fault}`)
        if (message.failed === undefined) return
        failure = { failed: message.failed, message: message.message ?? '' }
        if (!OUTAGE_CODES.includes(message.failed))
          this.#complain(`${idOf(at)} stopped: ${message.failed} ${message.message}`)
      })
      child.once('close', () => {
        output.end()
        resolve(failure)
      })
    })
  }
}

interface NodeMessage {
  ready?: true
  storage?: string
  fault?: string
  failed?: string
  message?: string
}

const idOf = (at: number) => `node-${at}`
