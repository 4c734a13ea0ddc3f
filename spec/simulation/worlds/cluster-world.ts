import { Random } from '../../../harness/random.js'
import type { Content, Incoming } from '../../../src/core/mqtt5/packets.js'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { textOf } from '../../support/words.js'
import { type Operation, Peer, receiveReply, requestArguments } from './cluster-clients.js'
import { ClusterHistory } from './cluster-history.js'
import { ClusterNode } from './cluster-node.js'
import { judge } from './cluster-oracle.js'
import type { ClusterAction, ClusterSchedule, RequestType } from './cluster-schedule.js'
import { SimCluster } from './cluster-stream.js'
import { VirtualTime } from './virtual-time.js'

/** The time without faults before the final checks, in milliseconds. */
const RECOVERY_MS = 6_000
/** The time without requests after the recovery, in milliseconds. */
const QUIET_MS = 1_500

/** Nodes of a store that share a log, and their clients. */
export class ClusterWorld {
  readonly #schedule: ClusterSchedule
  readonly #isFaulty: boolean
  readonly #time = new VirtualTime()
  readonly #history = new ClusterHistory()
  readonly #cluster: SimCluster
  readonly #nodes: ClusterNode[]
  readonly #operations: Operation[] = []
  readonly #peers: Peer[] = []
  /** Each client's connection, and the node to which the client wants to connect. */
  readonly #clients: { peer: Peer | undefined; node: number }[]
  readonly #waiting = new Map<number, () => void>()
  #runs = 0
  #order = 0

  /** @param isFaulty - whether one engine makes an error that the nodes must detect */
  constructor(schedule: ClusterSchedule, isFaulty: boolean) {
    this.#schedule = schedule
    this.#isFaulty = isFaulty
    const { seed, latency, largest, nodes, clients, snapshots } = schedule
    this.#cluster = new SimCluster(this.#time, new Random(seed), latency, largest)
    this.#cluster.committed = message => this.#history.addMessage(message)
    const setting = {
      cluster: this.#cluster,
      history: this.#history,
      snapshots,
      isFaulty,
      newEpochId: () => `life${++this.#runs}`,
      answered: (_: Client, message: Incoming, content: Content) => this.#answered(message, content),
    }
    this.#nodes = Array.from({ length: nodes }, (_, index) => new ClusterNode(index, setting))
    this.#clients = Array.from({ length: clients }, (_, index) => ({ peer: undefined, node: index % nodes }))
  }

  run(): readonly string[] {
    for (const node of this.#nodes) node.start()
    for (const action of this.#schedule.actions) {
      this.#time.runUntil(action.at)
      this.#perform(action)
    }
    this.#time.runUntil(this.#schedule.end)
    this.#recover()
    this.#time.runUntil(this.#schedule.end + RECOVERY_MS)
    // A recovered store serves all clients on all nodes and for all keys.
    for (const [at] of this.#nodes.entries()) {
      const client = at % this.#clients.length
      this.#hop(client, at)
      for (let key = 0; key < this.#schedule.keys; key++) {
        this.#request(client, key, 'set', {})
        this.#request(client, key, 'get', {})
      }
      this.#time.runUntil(this.#time.now + QUIET_MS / this.#nodes.length)
    }
    this.#time.runUntil(this.#time.now + QUIET_MS)
    const stopped = this.#nodes.filter(({ failure }) => failure !== undefined)
    return this.#isFaulty ? this.#judgeError(stopped) : this.#judge(stopped)
  }

  #judge(stopped: readonly ClusterNode[]): string[] {
    for (const { peer } of this.#clients) {
      const node = peer && this.#nodes[peer.node]
      if (peer?.open) for (const watch of peer.watches.values()) watch.until = node?.version
    }
    const late = this.#nodes.filter(
      ({ accepts, opened }) => !accepts || (opened?.judge.position ?? 0) < this.#cluster.last - 3,
    )
    return [
      ...stopped.map(({ name, failure }) => `${name} has stopped: ${String(failure)}`),
      ...late.map(({ name }) => `${name} has not recovered`),
      ...this.#history.violations,
      ...judge(this.#history, this.#operations, this.#peers),
    ]
  }

  #judgeError(stopped: readonly ClusterNode[]): string[] {
    const isWrong = this.#nodes.some(({ erred }) => erred)
    return isWrong && stopped.length === 0 ? ['a node diverged, and no node detected it'] : []
  }

  #perform(action: ClusterAction): void {
    if (action.type === 'ask') this.#request(action.client, action.key, action.what, action)
    else if (action.type === 'watch') this.#watch(action.client, action.key)
    else if (action.type === 'hop') this.#hop(action.client, action.node)
    else this.#disturb(action)
  }

  #disturb(action: Exclude<ClusterAction, { type: 'ask' | 'watch' | 'hop' }>): void {
    const node = 'node' in action ? this.#nodes[action.node] : undefined
    const cluster = this.#cluster
    if (action.type === 'crash') {
      node?.kill()
      this.#time.after(action.down, () => node?.start())
    } else if (action.type === 'quorum lost') {
      cluster.hasQuorum = false
      this.#time.after(action.duration, () => {
        cluster.hasQuorum = true
      })
    } else if (action.type === 'leader') {
      // A store that starts an hour early would correctly reject clients with correct clocks.
      if (cluster.last > 0) cluster.skew = action.skew
    } else if (action.type === 'clock') {
      if (node) node.offset = action.offset
    } else if (action.type === 'snapshot') cluster.snapshotFate = action.what
    else if (action.type === 'forget') cluster.forget()
    else if (action.type === 'broken') node?.break()
    else {
      node?.faults.add(action.type)
      this.#time.after(action.duration, () => node?.faults.delete(action.type))
    }
  }

  #recover(): void {
    this.#cluster.hasQuorum = true
    this.#cluster.snapshotFate = undefined
    for (const node of this.#nodes) {
      node.faults.clear()
      node.start()
    }
  }

  #hop(client: number, node: number): void {
    const state = this.#clients[client]
    if (state === undefined) return
    if (state.peer) this.#nodes[state.peer.node]?.leave(state.peer)
    state.node = node
  }

  /** Connects a client to the next node that accepts it. */
  #connected(client: number): Peer | undefined {
    const state = this.#clients[client]
    if (state?.peer?.open) return state.peer
    const first = state?.node ?? 0
    const places = this.#nodes.map((_, at) => (first + at) % this.#nodes.length)
    const at = places.find(place => this.#nodes[place]?.accepts)
    const node = at === undefined ? undefined : this.#nodes[at]
    if (state === undefined || node === undefined || at === undefined) return undefined
    const peer = new Peer(`client${client}`, at, this.#history.violations)
    state.peer = peer
    node.peers.add(peer)
    this.#peers.push(peer)
    return peer
  }

  #request(
    client: number,
    key: number,
    what: RequestType,
    { px, token }: { readonly px?: number; readonly token?: number },
  ): void {
    const peer = this.#connected(client)
    if (peer === undefined) return
    const id = this.#operations.length
    const operation = this.#operation(
      peer,
      `key${key}`,
      requestArguments(what, `key${key}`, id, px, this.#history.statesOf(`key${key}`).at(-1)?.value),
    )
    this.#send(operation, token)
  }

  #watch(client: number, key: number): void {
    const peer = this.#connected(client)
    const name = `key${key}`
    if (peer === undefined || peer.watches.has(name)) return
    const operation = this.#operation(peer, name, ['KEYNOTIFY', name])
    this.#operations.pop()
    this.#waiting.set(operation.id, () => {
      if (peer.open)
        peer.watches.set(name, {
          key: name,
          since: this.#nodes[peer.node]?.version,
          notifications: [],
          until: undefined,
        })
    })
    this.#send(operation, undefined)
  }

  #operation(peer: Peer, key: string, words: readonly string[]): Operation {
    const [id, start] = [words[0] === 'KEYNOTIFY' ? -1 - this.#waiting.size : this.#operations.length, this.#order++]
    const unknown = { end: undefined, reply: undefined, version: undefined, position: undefined, isRejected: false }
    const operation: Operation = { id, key, words, peer, start, ...unknown }
    this.#operations.push(operation)
    return operation
  }

  #send(operation: Operation, token: number | undefined): void {
    const { peer } = operation
    this.#nodes[peer.node]?.handle(peer, peer.packet(operation, this.#time.clock().now(), token))
  }

  #answered({ correlationData }: Incoming, content: Content): void {
    const id = Number(textOf(correlationData ?? new Uint8Array(0)))
    const order = this.#order++
    const operation = this.#operations[id]
    if (operation) receiveReply(operation, content, order)
    else if (textOf(content.payload) === '+OK\r\n') this.#waiting.get(id)?.()
  }
}
