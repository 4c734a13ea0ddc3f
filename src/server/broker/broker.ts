import type { Publish } from '../../core/mqtt5/packets.js'
import type { Visits } from '../../node/net/connection-limiter.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import { BrokerCore, type CoreOptions } from './core/broker-core.js'
import type { QuotaAccount } from './limits/quota-accounts.js'
import type { Connection } from './session/connection.js'
import type { BrokerHandler } from './session/handler.js'
import { ConnectionFreezer } from './transport/connection-freezer.js'
import { FairScheduler } from './transport/fair-scheduler.js'
import { type IncomingConnection, type ListenAddresses, Listeners } from './transport/listeners.js'
import { type LinkHost, SocketLink } from './transport/socket-link.js'

export type { BrokerHandler } from './session/handler.js'

/** Where a broker listens, and its bounds. */
export interface BrokerOptions extends ListenAddresses, CoreOptions {}

/** What a broker has. */
export interface BrokerStats {
  /** Connections whose clients are let in. */
  readonly connections: number
  /** Sessions, with those whose client is away. */
  readonly sessions: number
  /** Retained messages. */
  readonly retained: number
  /** What it holds for all clients together, bytes. */
  readonly bufferedBytes: number
  /** Network connections, also of clients that are not let in yet. */
  readonly networkConnections: number
  /** Network connections that were cut because there were too many. */
  readonly refusedConnections: number
  readonly subscriptions: number
  /** Of retained messages. */
  readonly retainedBytes: number
}

/** How much larger than a packet a WebSocket frame may be, which may hold several (MQTT 5.0, section 6), bytes. */
const FRAME_MARGIN_BYTES = 1024 * 1024

/**
 * An MQTT 5 broker, which speaks MQTT 3.1.1 as well, over TCP and WebSocket. It knows nothing of a state store.
 *
 * @example
 * ```ts
 * const broker = await Broker.start({ host: '127.0.0.1', port: 1883, wsPort: 8083, ...bounds }, handler)
 * ```
 */
export class Broker {
  /** Lets all connections stand still, or cuts them. */
  readonly freezer: ConnectionFreezer
  readonly #core: BrokerCore
  readonly #links: LinkHost
  readonly #listeners: Listeners

  private constructor(options: BrokerOptions, handler: BrokerHandler) {
    this.#core = new BrokerCore(options, handler)
    const { clock, budget, accounts, timeouts, maximumPacketSize } = this.#core
    this.#links = { clock, budget, accounts, timeouts, maximumPacketSize, scheduler: new FairScheduler(options.clock) }
    this.#listeners = new Listeners(options, {
      ...this.#links,
      maxFrameBytes: options.maximumPacketSize + FRAME_MARGIN_BYTES,
      accept: arrival => this.#accept(arrival),
      onConnectionCut: cut => handler.onConnectionCut?.(cut),
    })
    this.freezer = new ConnectionFreezer(this.#listeners.servers)
  }

  /** Starts a broker; rejects when an address is taken. */
  static async start(options: BrokerOptions, handler: BrokerHandler): Promise<Broker> {
    const broker = new Broker(options, handler)
    try {
      await broker.#listeners.listen(options)
    } catch (error) {
      await broker.close()
      throw error
    }
    return broker
  }

  get port(): number {
    return this.#listeners.port
  }

  get wsPort(): number {
    return this.#listeners.wsPort
  }

  /** Connections whose clients are let in. */
  get connections(): Iterable<Connection> {
    return this.#core.connections
  }

  /** Those who have to keep to quotas, and have something or had lately. */
  get accounts(): Iterable<QuotaAccount> {
    return this.#core.accounts.principals
  }

  /** Network connections of each address, or network of IPv6. */
  get addresses(): Iterable<[address: string, Visits]> {
    return this.#listeners.networkConnections.addresses
  }

  /** A glance at what there is. */
  get stats(): BrokerStats {
    const { connectionCount, sessionCount, retained, budget } = this.#core
    return {
      connections: connectionCount,
      sessions: sessionCount,
      retained: retained.count,
      bufferedBytes: budget.used,
      networkConnections: this.#listeners.networkConnections.count,
      refusedConnections: this.#listeners.networkConnections.refused,
      subscriptions: this.#core.accounts.subscriptions.used,
      retainedBytes: retained.bytes,
    }
  }

  /** Publishes to all subscribers of the topic, with QoS 1. */
  publish({ topic, ...content }: Publish): void {
    this.#core.publish({ topic, content, qos: 1, retain: false, expiresAt: undefined }, undefined)
  }

  /** Shows another certificate to clients that connect from now on. */
  setTls(tls: TlsMaterial): void {
    this.#listeners.setTls(tls)
  }

  /** Other rules are in force; see {@link BrokerCore.revalidateSessions}. */
  revalidateSessions(): void {
    this.#core.revalidateSessions()
  }

  /** Tells every client that the broker shuts down, and frees the ports. */
  async close(): Promise<void> {
    this.freezer.thaw()
    this.#core.close()
    await this.#listeners.close()
  }

  /** Ends as a process that is killed: connections are cut without a word. */
  async kill(): Promise<void> {
    this.freezer.destroy()
    this.#core.kill()
    await this.#listeners.close()
  }

  #accept(arrival: IncomingConnection): void {
    const link = new SocketLink(arrival, this.#links)
    link.attach(this.#core.accept(link))
  }
}
