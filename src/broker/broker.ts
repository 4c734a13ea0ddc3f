import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Client, PublishPacket } from 'aedes'
import type { Publish } from '../packet/publish.js'
import { PublishEncoder } from '../packet/publish-encoder.js'
import { AedesClient } from './aedes-client.js'
import { BrokerConnection, type Shared } from './connection.js'
import { FastPath } from './fast-path.js'
import type { BrokerHandler } from './handler.js'
import { guardClientIds, guardTopics } from './hostile-names.js'
import { InterceptingAedes } from './intercepting-aedes.js'
import { Lane } from './lane.js'
import { type Addresses, Listeners } from './listeners.js'
import { messageOf, toPacket } from './message.js'
import { MOST_SESSIONS, OfflineSessions } from './offline-sessions.js'
import { Outflow } from './outflow.js'
import { forgiveRepeatedPubrel } from './repeated-pubrel.js'
import { replaceMethod } from './replace-method.js'
import { Session } from './session.js'
import { boundSessions } from './session-bound.js'
import { SocketGate } from './socket-gate.js'
import { Subscriptions } from './subscriptions.js'
import { Tap } from './tap.js'

export type { BrokerHandler, PublishRefusal } from './handler.js'
export type { InboundMessage } from './message.js'

export interface BrokerOptions extends Addresses {
  /** Largest packet a client may send, bytes. */
  readonly maximumPacketSize: number
}

/** How long a connection may take to say CONNECT, and how long a full socket may stay full, ms. */
const CONNECT_TIMEOUT = 10_000
const DRAIN_TIMEOUT = 5_000
/** Every message is compared with the subscriptions of its receiver. */
const MOST_SUBSCRIPTIONS = 1_000
/** How much larger than a packet a WebSocket frame may be, which may hold several (MQTT 5.0, section 6), bytes. */
const LARGEST_FRAME_MARGIN = 1024 * 1024
/** Sessions end a day after their connection at the latest, s. */
const LONGEST_SESSION = 86_400
/** MQTT 5.0, section 2.4: Server shutting down. */
const SHUTTING_DOWN = 139

/** An MQTT 5 broker over TCP and WebSocket. It knows nothing of a state store. */
export class Broker {
  /** Lets all connections stand still, or cuts them. */
  readonly gate: SocketGate
  readonly #options: BrokerOptions
  readonly #handler: BrokerHandler
  /** Those whose client is known. */
  readonly #connections = new Map<Client, BrokerConnection>()
  /** All of them, also those whose last will is still to be published. */
  readonly #all = new WeakMap<Client, BrokerConnection>()
  readonly #offline = new OfflineSessions()
  readonly #shared: Shared
  readonly #aedes: InterceptingAedes
  readonly #listeners: Listeners

  private constructor(options: BrokerOptions, handler: BrokerHandler) {
    this.#options = options
    this.#handler = handler
    let deliveries = 0
    this.#shared = { encoder: new PublishEncoder(), nextNumber: () => ++deliveries }
    this.#aedes = this.#createAedes()
    this.#listeners = new Listeners(options.maximumPacketSize + LARGEST_FRAME_MARGIN, (stream, socket, request) =>
      this.#accept(stream, socket, request),
    )
    this.gate = new SocketGate(this.#listeners.servers)
  }

  /** Starts a broker; rejects when an address is taken. */
  static async start(options: BrokerOptions, handler: BrokerHandler): Promise<Broker> {
    const broker = new Broker(options, handler)
    await broker.#aedes.listen()
    const persistence = Object(Reflect.get(broker.#aedes, 'persistence'))
    boundSessions(persistence, clientId => broker.#overflowed(clientId))
    forgiveRepeatedPubrel(persistence)
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

  /** Open connections. */
  get connections(): Iterable<BrokerConnection> {
    return this.#connections.values()
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Publishes to all subscribers of the topic. */
  publish(message: Publish): void {
    this.#aedes.publish(toPacket(message.topic, message), () => undefined)
  }

  /** Tells every client that the broker shuts down, and frees the ports. */
  async close(): Promise<void> {
    this.gate.thaw()
    for (const connection of this.#connections.values())
      connection.disconnect(SHUTTING_DOWN, 'the broker is shutting down')
    await new Promise<void>(resolve => this.#aedes.close(resolve))
    await this.#listeners.close()
  }

  #createAedes(): InterceptingAedes {
    const options = {
      connectTimeout: CONNECT_TIMEOUT,
      drainTimeout: DRAIN_TIMEOUT,
      maximumPacketSize: this.#options.maximumPacketSize,
      sessionExpiryIntervalLimit: LONGEST_SESSION,
      pendingSessionsLimit: MOST_SESSIONS,
    }
    const aedes = new InterceptingAedes(
      {
        ...options,
        authorizePublish: (client, packet, done) => (client ? this.#authorize(client, packet, done) : done(null)),
        authorizeSubscribe: (client, subscription, done) => {
          done(null, this.#maySubscribe(client, subscription.topic) ? subscription : null)
        },
      },
      (packet, client) => this.#intercept(packet, client),
    )
    guardClientIds(aedes)
    aedes.on('client', client => this.#register(client))
    aedes.on('connackSent', ({ sessionPresent }, client) => {
      // aedes takes its time to empty the queue of a session that ended, and would send the rest to the next one.
      if (!sessionPresent) Object.assign(client, { _cleanStart: true })
      this.#connectionOf(client).connected(sessionPresent)
    })
    aedes.on('clientDisconnect', client => this.#forget(client))
    // aedes calls it when a session ends.
    replaceMethod(aedes, '_wipeSession', wipe => (client: Client) => {
      this.#offline.take(client.id)
      wipe(client)
    })
    return aedes
  }

  #accept(stream: Duplex, socket: Socket, request?: IncomingMessage): void {
    const tap = new Tap(stream)
    const outflow = new Outflow(stream, socket, () => path.taken())
    const lane = new Lane(stream, outflow, tap)
    const client = this.#aedes.handle(lane, request)
    const aedes = new AedesClient(client)
    const subscriptions = new Subscriptions()
    guardTopics(client, subscriptions.byFilter)
    const connection = new BrokerConnection(aedes, outflow, subscriptions, this.#shared)
    this.#all.set(client, connection)
    const paths = { connection, aedes, lane, outflow, tap }
    const path: FastPath = new FastPath(paths, this.#handler, this.#options.maximumPacketSize)
    path.attach(stream)
  }

  #intercept(packet: PublishPacket, client: Client): boolean {
    if (packet.topic !== this.#handler.topic) return false
    this.#handler.take(this.#connectionOf(client), messageOf(packet))
    return true
  }

  #maySubscribe(client: Client, filter: string): boolean {
    const connection = this.#connectionOf(client)
    if (connection.subscriptionCount >= MOST_SUBSCRIPTIONS) return false
    return this.#handler.maySubscribe(connection, filter)
  }

  /** A session with too much unacknowledged ends, and what was kept for it goes. */
  #overflowed(clientId: string): void {
    for (const connection of this.#connections.values()) if (connection.clientId === clientId) connection.abandon()
  }

  #authorize(client: Client, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const connection = this.#connectionOf(client)
    const refusal = this.#handler.refuse(connection, messageOf(packet))
    if (refusal === undefined) {
      done(null)
      return
    }
    const refused = (): void => done(new Error(refusal.reason))
    // Nothing may follow a DISCONNECT (MQTT 5.0, section 3.14.4), so the PUBLISH is answered when nobody hears it.
    if (refusal.disconnect === undefined) refused()
    else connection.disconnect(refusal.disconnect, refusal.reason, refused)
  }

  #connectionOf(client: Client): BrokerConnection {
    const connection = this.#all.get(client)
    if (connection === undefined) throw new Error('aedes has a client of its own')
    return connection
  }

  /** One connection per client id (MQTT 5.0, section 3.1.4): several that come at once escape aedes. */
  #register(client: Client): void {
    for (const [other, connection] of this.#connections) {
      if (connection.clientId !== client.id) continue
      connection.cut()
      this.#forget(other)
    }
    // It may be gone before it is there.
    if (client.conn.destroyed) return
    const connection = this.#connectionOf(client)
    connection.begin(this.#offline.take(client.id) ?? new Session())
    this.#connections.set(client, connection)
    this.#handler.connected(connection)
    // aedes does not tell the end of a connection that ended while it was taken over.
    client.conn.once('close', () => this.#forget(client))
  }

  #forget(client: Client): void {
    const connection = this.#connections.get(client)
    if (connection === undefined) return
    this.#connections.delete(client)
    const session = connection.finish()
    if (session !== undefined) this.#offline.put(client.id, session)
    this.#handler.disconnected(connection)
  }
}
