import { setTimeout } from 'node:timers/promises'
import type { Link } from '../../harness/link.js'
import type { ManagedProcess } from '../managed-process.js'
import type { Run } from '../run.js'
import type { LogAudit } from './log-audit.js'
import type { NatsServers } from './nats.js'
import type { StoreNodes } from './nodes.js'

export interface IncidentTargets {
  readonly nodes: StoreNodes
  readonly nats: NatsServers
  readonly audit: LogAudit
  /** called before a node ends */
  readonly onNodeEnding: (node: number) => void
  /** called before the leader of the stream ends */
  readonly onLeaderEnding: () => void
}

const SECOND_INCIDENT_CHANCE = 0.25

/** Kills, suspends and isolates random nodes and servers, one incident at a time, and repairs everything afterwards. */
export class Incidents {
  #targets
  #tally
  #random
  #repairs: (() => Promise<void> | void)[] = []

  constructor(targets: IncidentTargets, { tally, random }: Run) {
    this.#targets = targets
    this.#tally = tally
    this.#random = random.fork()
  }

  /** Starts an incident. Resolves when the incident has lasted for some time. */
  async kill() {
    await this.#strike()
    if (this.#random.chance(SECOND_INCIDENT_CHANCE)) await this.#strike()
    await setTimeout(this.#random.int(100, this.#random.chance(0.25) ? 7_000 : 2_000))
  }

  /** Repairs all incidents. Resolves when all processes and links work again. */
  async start() {
    const repairs = this.#repairs.splice(0)
    // A node may need a server that was hit by the same incident.
    await Promise.all(repairs.map(repair => repair()))
  }

  async #strike() {
    if (this.#random.chance(0.55)) await this.#strikeNode()
    else await this.#strikeServer()
  }

  async #strikeNode() {
    const { nodes, onNodeEnding } = this.#targets
    const at = this.#random.int(0, nodes.processes.length - 1)
    const node = nodes.processes[at]
    const dice = this.#random.next()
    if (node?.child === undefined) return
    this.#repairs.push(() => node.start())
    if (dice < 0.6) onNodeEnding(at)
    if (dice < 0.4) await this.#end('nodes killed', node.kill())
    else if (dice < 0.6) await this.#end('nodes terminated', node.terminate())
    else if (dice < 0.8) this.#suspend('nodes suspended', node)
    else this.#cut('nodes cut off their log', nodes.links.from(at))
  }

  async #strikeServer() {
    const { nats, nodes, audit, onLeaderEnding } = this.#targets
    const leader = nats.processes.find(({ name }) => name === audit.leader)
    const wantsLeader = this.#random.chance(0.5)
    const any = this.#random.pick(nats.processes)
    const server = wantsLeader && leader ? leader : any
    const at = nats.processes.indexOf(server)
    const dice = this.#random.next()
    if (server.child === undefined) return
    if (server === leader) this.#tally.add('incidents at the leader of the stream')
    this.#repairs.push(() => server.start())
    if (server === leader && dice < 0.5) onLeaderEnding()
    if (dice < 0.4) await this.#end('NATS servers killed', server.kill())
    else if (dice < 0.5) await this.#end('NATS servers terminated', server.terminate())
    else if (dice < 0.6) this.#suspend('NATS servers suspended', server)
    else if (dice < 0.8) {
      const routes = [...nats.routes.from(at), ...nats.routes.to(at)]
      // In half of the cases, the nodes can still reach the server, which has no quorum but may believe that it has one.
      this.#cut('NATS servers cut off', this.#random.chance(0.5) ? routes : [...routes, ...nodes.links.to(at)])
    } else {
      const other = (at + this.#random.int(1, nats.processes.length - 1)) % nats.processes.length
      this.#cut('routes cut', nats.routes.between(at, other))
    }
  }

  #count(what: string) {
    this.#tally.add('incidents')
    this.#tally.add(`incidents: ${what}`)
  }

  async #end(what: string, ended: Promise<void>) {
    this.#count(what)
    await ended
  }

  #suspend(what: string, process: ManagedProcess) {
    this.#count(what)
    process.suspend()
  }

  /** Breaks links, either silently or by closing their connections. */
  #cut(what: string, links: readonly Link[]) {
    this.#count(what)
    const isSilent = this.#random.chance(0.6)
    for (const link of links) {
      if (isSilent) link.block()
      else link.cut()
    }
    this.#repairs.push(() => {
      for (const link of links) link.repair()
    })
  }
}
