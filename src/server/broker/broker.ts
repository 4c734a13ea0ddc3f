import type { Publish } from '../../core/mqtt5/packets.js'
import { TurnScheduler } from '../../node/limits/turn-scheduler.js'
import type { AddressConnections } from '../../node/net/connection-limiter.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import { BrokerCore, type CoreOptions } from './core/broker-core.js'
import type { QuotaAccount } from './limits/quota-accounts.js'
import type { Connection } from './session/connection.js'
import type { BrokerHandler } from './session/handler.js'
import { ConnectionFreezer } from './transport/connection-freezer.js'
import { type IncomingConnection, type ListenAddresses, Listeners } from './transport/listeners.js'
import { type LinkHost, SocketLink } from './transport/socket-link.js'

export type { BrokerHandler } from './session/handler.js'

export interface BrokerOptions extends ListenAddresses, CoreOptions {}

export interface BrokerStats {
  /** The number of authenticated connections. */
  readonly connections: number
  /** The number of sessions, including the sessions of offline clients. */
  readonly sessions: number
  readonly retained: number
  /** The bytes charged to the shared memory budget. */
  readonly bufferedBytes: number
  /** The number of connections, unauthenticated connections included. */
  readonly networkConnections: number
  /** The number of connections closed at a connection limit. */
  readonly refusedConnections: number
  readonly subscriptions: number
  readonly retainedBytes: number
  readonly sharedSubscriptions: number
  readonly wills: number
}

/**
 * The number of bytes by which a WebSocket frame may exceed the largest packet, because a frame may hold several
 * packets (MQTT 5.0, section 6).
 */
const FRAME_MARGIN_BYTES = 1024 * 1024

/**
 * An MQTT 5 and MQTT 3.1.1 broker over TCP and WebSocket. It is independent of the state store.
 *
 * @example
 * ```ts
 * const broker = await Broker.start(
 *   { host: '127.0.0.1', port: 1883, wsPort: 8083, ...bounds },
 *   handler,
 * )
 * ```
 */
export class Broker {
  readonly freezer: ConnectionFreezer
  readonly #core: BrokerCore
  readonly #links: LinkHost
  readonly #listeners: Listeners

  private constructor(options: BrokerOptions, handler: BrokerHandler) {
    const scheduler = new TurnScheduler(options.clock, error => handler.onError(error, ''))
    this.#core = new BrokerCore({ ...options, runSliced: work => scheduler.run(work) }, handler)
    const { clock, budget, accounts, traffic, timeouts, maximumPacketSize } = this.#core
    this.#links = { clock, budget, accounts, traffic, timeouts, maximumPacketSize, scheduler }
    this.#listeners = new Listeners(options, {
      ...this.#links,
      maxFrameBytes: options.maximumPacketSize + FRAME_MARGIN_BYTES,
      accept: incoming => this.#accept(incoming),
      onConnectionCut: cut => handler.onConnectionCut?.(cut),
    })
    this.freezer = new ConnectionFreezer(this.#listeners.servers)
  }

  /** Starts a broker that listens. Rejects if an address is already in use. */
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

  get connections(): Iterable<Connection> {
    return this.#core.connections
  }

  /** Returns the usage of every principal that uses a quota or was active recently. */
  get accounts(): Iterable<QuotaAccount> {
    return this.#core.accounts.principals
  }

  /** Returns the network connections per IPv4 address or IPv6 network. */
  get addresses(): Iterable<[address: string, AddressConnections]> {
    return this.#listeners.networkConnections.addresses
  }

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
      sharedSubscriptions: this.#core.router.sharedCount,
      wills: this.#core.willCount,
    }
  }

  /** Publishes with QoS 1 to all subscribers of the topic. */
  publish({ topic, ...content }: Publish): void {
    this.#core.publish({ topic, content, qos: 1, retain: false, expiresAt: undefined }, undefined)
  }

  /** Sets the certificate that new connections use. */
  setTls(tls: TlsMaterial): void {
    this.#listeners.setTls(tls)
  }

  revalidateSessions(): void {
    this.#core.revalidateSessions()
  }

  /** Disconnects every client with the reason "server shutting down", and releases the ports. */
  async close(): Promise<void> {
    this.freezer.thaw()
    this.#core.close()
    await this.#listeners.close()
  }

  /** Closes all connections without a DISCONNECT, as a killed process does. */
  async kill(): Promise<void> {
    this.freezer.destroy()
    this.#core.kill()
    await this.#listeners.close()
  }

  #accept(incoming: IncomingConnection): void {
    const link = new SocketLink(incoming, this.#links)
    link.attach(this.#core.accept(link))
  }
}
