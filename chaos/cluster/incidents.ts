import type { Link } from '../link.js'
import type { ManagedProcess } from '../managed-process.js'
import type { Random } from '../random.js'
import type { NatsServers } from './nats.js'
import type { StoreNodes } from './nodes.js'

export interface IncidentTargets {
  nodes: StoreNodes
  nats: NatsServers
  /** returns the name of the server that leads the stream, if known */
  leader: () => string | undefined
  /** called before a node ends */
  onNodeEnding: (node: number) => void
  /** called before the leader of the stream ends */
  onLeaderEnding: () => void
}

const SECOND_INCIDENT_CHANCE = 0.25

/** Kills, suspends and isolates random nodes and servers, one incident at a time, and repairs everything afterwards. */
export class Incidents {
  counts = {
    'nodes killed': 0,
    'nodes terminated': 0,
    'nodes stopped': 0,
    'nodes cut off their log': 0,
    'NATS servers killed': 0,
    'NATS servers terminated': 0,
    'NATS servers stopped': 0,
    'NATS servers cut off': 0,
    'routes cut': 0,
    '  of these the leader of the stream': 0,
  }
  #scene
  #random
  #repairs: (() => Promise<void> | void)[] = []

  constructor(scene: IncidentTargets, random: Random) {
    this.#scene = scene
    this.#random = random
  }

  get count() {
    const { '  of these the leader of the stream': _, ...kinds } = this.counts
    return Object.values(kinds).reduce((sum, count) => sum + count, 0)
  }

  /** Starts an incident. Resolves when the incident has lasted for some time. */
  async kill() {
    await this.#strike()
    if (this.#random.chance(SECOND_INCIDENT_CHANCE)) await this.#strike()
    await this.#pause(this.#random.int(100, this.#random.chance(0.25) ? 7_000 : 2_000))
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
    const { nodes, onNodeEnding: nodeEnds } = this.#scene
    const at = this.#random.int(0, nodes.processes.length - 1)
    const node = nodes.processes[at]
    const dice = this.#random.next()
    if (node?.child === undefined) return
    this.#repairs.push(() => node.start())
    if (dice < 0.4) {
      this.counts['nodes killed']++
      nodeEnds(at)
      await node.kill()
    } else if (dice < 0.6) {
      this.counts['nodes terminated']++
      nodeEnds(at)
      await node.terminate()
    } else if (dice < 0.8) {
      this.counts['nodes stopped']++
      node.suspend()
    } else {
      this.counts['nodes cut off their log']++
      this.#cut(nodes.links.from(at))
    }
  }

  async #strikeServer() {
    const { nats, leader, onLeaderEnding: leaderEnds } = this.#scene
    const leading = nats.byName(leader())
    const wantsLeader = this.#random.chance(0.5)
    const any = this.#random.pick(nats.processes)
    const server = wantsLeader && leading ? leading : any
    const dice = this.#random.next()
    if (server.child === undefined) return
    if (server === leading) this.counts['  of these the leader of the stream']++
    this.#repairs.push(() => server.start())
    if (server === leading && dice < 0.5) leaderEnds()
    if (dice < 0.4) {
      this.counts['NATS servers killed']++
      await server.kill()
    } else if (dice < 0.5) {
      this.counts['NATS servers terminated']++
      await server.terminate()
    } else if (dice < 0.6) {
      this.counts['NATS servers stopped']++
      server.suspend()
    } else if (dice < 0.8) this.#isolate(server)
    else this.#cutRoute(server)
  }

  #isolate(server: ManagedProcess) {
    const { nats, nodes } = this.#scene
    const at = nats.processes.indexOf(server)
    this.counts['NATS servers cut off']++
    const routes = [...nats.routes.from(at), ...nats.routes.to(at)]
    // In half of the cases, the nodes can still reach the server, which has no quorum but may believe that it has one.
    this.#cut(this.#random.chance(0.5) ? routes : [...routes, ...nodes.links.to(at)])
  }

  #cutRoute(server: ManagedProcess) {
    const { nats } = this.#scene
    const at = nats.processes.indexOf(server)
    const other = (at + this.#random.int(1, nats.processes.length - 1)) % nats.processes.length
    this.counts['routes cut']++
    this.#cut(nats.routes.between(at, other))
  }

  /** Breaks links, either silently or by closing their connections. */
  #cut(links: readonly Link[]) {
    const isSilent = this.#random.chance(0.6)
    for (const link of links) {
      if (isSilent) link.block()
      else link.cut()
    }
    this.#repairs.push(() => {
      for (const link of links) link.repair()
    })
  }

  #pause(ms: number) {
    return new Promise(resolve => setTimeout(resolve, ms))
  }
}
