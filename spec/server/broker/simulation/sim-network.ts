import type { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import type { Connection } from '../../../../src/server/broker/session/connection.js'
import { bytesOf } from '../../../support/packets.js'
import type { Oracle } from './oracle.js'
import type { SimClient } from './sim-client.js'
import { SimLink } from './sim-link.js'

/** What lies between a broker and its clients: packets on their way, and connections that end on one side first. */
export class SimNetwork {
  readonly #core: BrokerCore
  readonly #oracle: Oracle
  readonly #clients: readonly SimClient[]
  /** Those of the links that are not forgotten by both ends. */
  readonly #connections = new Map<SimLink, Connection>()

  constructor(core: BrokerCore, oracle: Oracle, clients: readonly SimClient[]) {
    this.#core = core
    this.#oracle = oracle
    this.#clients = clients
  }

  /** Links that are not forgotten by both ends. */
  get links(): readonly SimLink[] {
    return [...this.#connections.keys()]
  }

  /** What may happen next: one packet moves, or somebody notices that a connection is broken. */
  get moves(): (() => void)[] {
    return [...this.#connections].flatMap(([link, connection]) => this.#possible(link, connection))
  }

  /** A client connects. */
  open(version: 4 | 5): SimLink {
    const link = new SimLink(version, {
      sent: (from, sent) => this.#oracle.sent(from, sent),
      ended: from => this.#oracle.over(from, false),
      complain: this.#oracle.complain,
    })
    this.#connections.set(link, this.#core.accept(link))
    return link
  }

  /** The connection breaks, and only the client knows it. */
  kill(link: SimLink): void {
    link.gone = link.finished = true
    link.up.length = 0
    link.forget()
  }

  /** The broker hears that a connection is broken. */
  notice(link: SimLink): void {
    this.#oracle.over(link, true)
    this.#connections.get(link)?.onNetworkClosed()
    this.#connections.delete(link)
  }

  /** Has everything looked at that was written. */
  flush(): void {
    for (const link of this.#connections.keys()) link.flush()
  }

  #possible(link: SimLink, connection: Connection): (() => void)[] {
    if (link.over) return [() => this.#close(link)]
    if (link.gone) return [() => this.notice(link)]
    const moves: (() => void)[] = []
    const client = this.#clients.find(client => client.link === link)
    // What nobody looks at any more the system takes.
    if (link.down.length > 0 && (client === undefined || !client.stalled)) moves.push(() => this.#down(link, client))
    if (!connection.isStalled && (link.up.length > 0 || link.finished)) moves.push(() => this.#up(link, connection))
    return moves
  }

  #down(link: SimLink, client: SimClient | undefined): void {
    const packet = link.take()
    if (packet && client) client.take(link, packet)
    const connection = this.#connections.get(link)
    if (connection && !connection.isEnded && !connection.isStalled) connection.processNext()
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
    this.#oracle.handed(link, packet)
    connection.recordActivity()
    connection.receive(bytes)
    while (!connection.isEnded && !connection.isStalled && connection.processNext());
  }

  /** The client sees, after what is on its way, that the broker has ended the connection. */
  #close(link: SimLink): void {
    const client = this.#clients.find(client => client.link === link)
    for (let packet = link.take(); packet !== undefined; packet = link.take()) client?.take(link, packet)
    if (client) client.link = undefined
    this.#connections.get(link)?.onNetworkClosed()
    this.#connections.delete(link)
  }
}
