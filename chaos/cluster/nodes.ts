import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Process, statsOf } from '../process.js'
import type { Random } from '../random.js'
import { Mesh } from './mesh.js'

const NODES = 3
/** A node begins when the log has a quorum, and has come to it through cables that are struck. */
const START_TIMEOUT = 60_000
/** Why a node may not come up while the log is away; whoever looks after it starts it again. */
const AWAY = ['connection-lost', 'timeout']

export type NodeStats = { keys: number; hash: string; position: number; lag: number; nodes: number }

/** Three nodes of a store, with cables between them and the servers of their log. */
export class StoreNodes {
  /** From each to each of the servers. */
  cables
  processes: readonly Process[]
  /** How often a node did not come up as the log was away, and how often one had to wait for the log. */
  counts = { retries: 0, waits: 0 }
  #name
  #directory
  #ports
  #complain
  #servers: number[][] = []

  /**
   * @param name - of the store
   * @param directory - for what they say
   * @param ports - two for each
   * @param servers - their ports
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
    this.cables = new Mesh(NODES, servers, random)
    this.processes = Array.from({ length: NODES }, (_, at) => new Process(idOf(at), () => this.#run(at), complain))
  }

  /** How many ports they need. */
  static get ports() {
    return 2 * NODES
  }

  /** Where clients connect to. */
  get places() {
    return this.processes.map((_, at) => ({ port: this.#ports[2 * at] ?? 0, wsPort: this.#ports[2 * at + 1] ?? 0 }))
  }

  /** Settles when all run. */
  async start() {
    this.#servers = await this.cables.listen()
    await Promise.all(this.processes.map(each => each.start()))
  }

  /** What each of them holds. */
  stats(): Promise<NodeStats[]> {
    return Promise.all(this.processes.map(each => statsOf<NodeStats>(each)))
  }

  async stop() {
    await Promise.all(this.processes.map(each => each.terminate()))
    await this.cables.close()
  }

  async #run(at: number) {
    const end = performance.now() + START_TIMEOUT
    for (;;) {
      const found = await this.#try(at)
      if (!('failed' in found)) return found
      if (!AWAY.includes(found.failed) || performance.now() > end)
        throw new Error(`${idOf(at)} does not come up: ${found.failed} ${found.message}`)
      this.counts.retries++
    }
  }

  #try(at: number): Promise<ChildProcess | { failed: string; message: string }> {
    const { port, wsPort } = this.places[at] ?? {}
    const servers = (this.#servers[at] ?? []).map(server => `nats://127.0.0.1:${server}`).join(',')
    const args = [idOf(at), port, wsPort, servers, this.#name].map(String)
    const child = fork(new URL('./node-process.js', import.meta.url).pathname, args, { execArgv: [], silent: true })
    const said = createWriteStream(join(this.#directory, `${idOf(at)}.log`), { flags: 'a' })
    child.stdout?.pipe(said, { end: false })
    child.stderr?.pipe(said, { end: false })
    return new Promise(resolve => {
      let failure = { failed: 'ended', message: 'it said nothing' }
      child.on('message', raw => {
        const message = raw as NodeMessage
        said.write(`${new Date().toISOString()} ${JSON.stringify(message).slice(0, 2_000)}\n`)
        if (message.ready) resolve(child)
        if (message.storage === 'waiting') this.counts.waits++
        if (message.fault !== undefined) this.#complain(`${idOf(at)} has a fault: ${message.fault}`)
        if (message.failed === undefined) return
        failure = { failed: message.failed, message: message.message ?? '' }
        if (!AWAY.includes(message.failed)) this.#complain(`${idOf(at)} stopped: ${message.failed} ${message.message}`)
      })
      child.once('close', () => {
        said.end()
        resolve(failure)
      })
    })
  }
}

/** What a node says over the channel to its parent. */
interface NodeMessage {
  ready?: true
  storage?: string
  fault?: string
  failed?: string
  message?: string
}

const idOf = (at: number) => `node-${at}`
