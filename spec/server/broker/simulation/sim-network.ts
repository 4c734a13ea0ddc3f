import type { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import type { Connection } from '../../../../src/server/broker/session/connection.js'
import { bytesOf } from '../../../support/packets.js'
import type { Oracle } from './oracle.js'
import type { SimClient } from './sim-client.js'
import { SimLink } from './sim-link.js'

/** The network between a broker and its clients: packets in transit, and connections that are closed at one end. */
export class SimNetwork {
  readonly #core: BrokerCore
  readonly #oracle: Oracle
  readonly #clients: readonly SimClient[]
  readonly #connections = new Map<SimLink, Connection>()

  constructor(core: BrokerCore, oracle: Oracle, clients: readonly SimClient[]) {
    this.#core = core
    this.#oracle = oracle
    this.#clients = clients
  }

  get links(): readonly SimLink[] {
    return [...this.#connections.keys()]
  }

  /** The possible next events: either a packet moves, or one end detects a broken connection. */
  get moves(): (() => void)[] {
    return [...this.#connections].flatMap(([link, connection]) => this.#possible(link, connection))
  }

  open(version: 4 | 5): SimLink {
    const link = new SimLink(version, {
      sent: (from, sent) => this.#oracle.onSent(from, sent),
      onEnded: from => this.#oracle.onConnectionEnded(from, false),
      reportViolation: this.#oracle.reportViolation,
    })
    this.#connections.set(link, this.#core.accept(link))
    return link
  }

  /** Breaks a connection so that only the client detects the break. */
  breakConnection(link: SimLink): void {
    link.isGone = link.hasFinished = true
    link.up.length = 0
    link.dropDownstream()
  }

  /** Lets the broker detect a broken connection. */
  notifyBroker(link: SimLink): void {
    this.#oracle.onConnectionEnded(link, true)
    this.#connections.get(link)?.onNetworkClosed()
    this.#connections.delete(link)
  }

  flush(): void {
    for (const link of this.#connections.keys()) link.flush()
  }

  #possible(link: SimLink, connection: Connection): (() => void)[] {
    if (link.isOver) return [() => this.#close(link)]
    if (link.isGone) return [() => this.notifyBroker(link)]
    const moves: (() => void)[] = []
    const client = this.#clients.find(client => client.link === link)
    // The operating system accepts data for a client that has stopped reading.
    if (link.down.length > 0 && (client === undefined || !client.stalled)) moves.push(() => this.#down(link, client))
    if (!connection.isStalled && (link.up.length > 0 || link.hasFinished)) moves.push(() => this.#up(link, connection))
    return moves
  }

  #down(link: SimLink, client: SimClient | undefined): void {
    const packet = link.take()
    if (packet && client) client.receive(link, packet)
    const connection = this.#connections.get(link)
    if (connection) this.#processAll(connection)
  }

  #processAll(connection: Connection): void {
    while (!connection.isEnded && !connection.isStalled && connection.processNext());
  }

  #up(link: SimLink, connection: Connection): void {
    if (connection.processNext()) return
    const packet = link.up.shift()
    if (packet === undefined) {
      connection.endInput()
      if (!connection.processNext()) connection.finish()
      return
    }
    const bytes = bytesOf(packet, link.version)
    this.#oracle.onReceived(link, packet)
    connection.recordActivity()
    connection.receive(bytes)
    this.#processAll(connection)
  }

  /** Reports the end of a connection after all packets in transit have arrived. */
  #close(link: SimLink): void {
    const client = this.#clients.find(client => client.link === link)
    for (let packet = link.take(); packet !== undefined; packet = link.take()) client?.receive(link, packet)
    if (client) client.link = undefined
    this.#connections.get(link)?.onNetworkClosed()
    this.#connections.delete(link)
  }
}
