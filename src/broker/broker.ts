import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import { Aedes, type Client, type PublishPacket } from 'aedes'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { coalesceWrites } from './coalesce.js'
import { BrokerConnection, type Delivery, toPacket } from './connection.js'
import { guardClientIds, guardTopics } from './hostile-names.js'
import { boundSessions } from './session-bound.js'

/** Why a PUBLISH is refused; with `disconnect`, an MQTT 5 reason code, the connection ends as well. */
export interface PublishRefusal {
  readonly reason: string
  readonly disconnect?: number
}

/** What a broker asks of whoever it works for. */
export interface BrokerHandler {
  /** Whether and why a PUBLISH is refused. */
  refuse(connection: BrokerConnection, packet: PublishPacket): PublishRefusal | undefined
  /** Takes a PUBLISH for itself; then it is not forwarded to subscribers. */
  take(connection: BrokerConnection, packet: PublishPacket): boolean
  maySubscribe(connection: BrokerConnection, filter: string): boolean
  disconnected(connection: BrokerConnection): void
}

export interface BrokerOptions {
  readonly host: string
  /** TCP port, 0 for any. */
  readonly port: number
  /** WebSocket port, 0 for any. */
  readonly wsPort: number
  /** Largest packet a client may send, bytes. */
  readonly maximumPacketSize: number
}

export type { PublishPacket } from 'aedes'

type Done = (error?: Error) => void

/** How long a connection may take to say CONNECT, and how long a full socket may stay full, ms. */
const CONNECT_TIMEOUT = 10_000
const DRAIN_TIMEOUT = 5_000
/** Every message is compared with the subscriptions of its receiver. */
const MOST_SUBSCRIPTIONS = 1_000
/** How much larger than a packet a WebSocket frame may be, bytes. */
const LARGEST_FRAME_MARGIN = 1024 * 1024
/** Sessions end a day after their connection at the latest, s; so many are kept. */
const LONGEST_SESSION = 86_400
const MOST_SESSIONS = 10_000
/** MQTT 5.0, section 2.4: Server shutting down. */
const SHUTTING_DOWN = 139

// aedes calls this method for what clients publish; its declared type leaves the client out.
class InterceptingAedes extends Aedes {
  intercept: (packet: PublishPacket, client: Client) => boolean = () => false

  override publish(packet: PublishPacket, client: Client | Done | null, done?: Done): void {
    if (client !== null && typeof client === 'object' && this.intercept(packet, client)) {
      done?.()
      return
    }
    Reflect.apply(super.publish, this, [packet, client, done])
  }
}

/** An MQTT 5 broker over TCP and WebSocket. It knows nothing of a state store. */
export class Broker {
  readonly #options: BrokerOptions
  readonly #handler: BrokerHandler
  readonly #connections = new Map<Client, BrokerConnection>()
  readonly #nextNumber: () => number
  readonly #aedes: InterceptingAedes
  readonly #tcp: TcpServer
  readonly #sockets = new Set<Socket>()
  readonly #http: HttpServer
  readonly #webSockets: WebSocketServer

  private constructor(options: BrokerOptions, handler: BrokerHandler) {
    this.#options = options
    this.#handler = handler
    let deliveries = 0
    this.#nextNumber = () => ++deliveries
    this.#aedes = this.#createAedes()
    this.#tcp = createTcpServer({ noDelay: true }, socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      this.#aedes.handle(coalesceWrites(socket))
    })
    this.#http = createHttpServer((_request, response) =>
      response.writeHead(426).end('This is an MQTT broker: use WebSocket\n'),
    )
    this.#webSockets = new WebSocketServer({
      server: this.#http,
      // A frame may hold several packets (MQTT 5.0, section 6).
      maxPayload: options.maximumPacketSize + LARGEST_FRAME_MARGIN,
      handleProtocols: protocols => (protocols.has('mqtt') ? 'mqtt' : false),
    })
    this.#webSockets.on('connection', (socket, request) => {
      request.socket.setNoDelay(true)
      this.#aedes.handle(coalesceWrites(createWebSocketStream(socket)), request)
    })
    // Its server's errors arrive here as well; listening reports them.
    this.#webSockets.on('error', () => undefined)
  }

  /** Starts a broker; rejects when an address is taken. */
  static async start(options: BrokerOptions, handler: BrokerHandler): Promise<Broker> {
    const broker = new Broker(options, handler)
    await broker.#aedes.listen()
    boundSessions(Object(Reflect.get(broker.#aedes, 'persistence')), clientId => broker.#overflowed(clientId))
    try {
      await listen(broker.#tcp, options.port, options.host)
      await listen(broker.#http, options.wsPort, options.host)
    } catch (error) {
      await broker.close()
      throw error
    }
    return broker
  }

  get port(): number {
    return portOf(this.#tcp)
  }

  get wsPort(): number {
    return portOf(this.#http)
  }

  /** Open connections. */
  get connections(): Iterable<BrokerConnection> {
    return this.#connections.values()
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Publishes to all subscribers of the topic. */
  publish(message: Delivery): void {
    this.#aedes.publish(toPacket(message), () => undefined)
  }

  /** Tells every client that the broker shuts down, and frees the ports. */
  async close(): Promise<void> {
    for (const connection of this.#connections.values())
      connection.disconnect(SHUTTING_DOWN, 'the broker is shutting down')
    await new Promise<void>(resolve => this.#aedes.close(resolve))
    for (const socket of this.#webSockets.clients) socket.terminate()
    for (const socket of this.#sockets) socket.destroy()
    this.#http.closeAllConnections()
    await Promise.all([closeServer(this.#tcp), closeServer(this.#http)])
  }

  #createAedes(): InterceptingAedes {
    const aedes = new InterceptingAedes({
      connectTimeout: CONNECT_TIMEOUT,
      drainTimeout: DRAIN_TIMEOUT,
      maximumPacketSize: this.#options.maximumPacketSize,
      sessionExpiryIntervalLimit: LONGEST_SESSION,
      pendingSessionsLimit: MOST_SESSIONS,
      authorizePublish: (client, packet, done) => (client ? this.#authorize(client, packet, done) : done(null)),
      preConnect: (client, _packet, done) => {
        guardTopics(client)
        done(null, true)
      },
      authorizeSubscribe: (client, subscription, done) => {
        done(null, this.#maySubscribe(client, subscription.topic) ? subscription : null)
      },
    })
    guardClientIds(aedes)
    aedes.intercept = (packet, client) => this.#handler.take(this.#connectionOf(client), packet)
    aedes.on('client', client => this.#register(client))
    // aedes takes its time to empty the queue of a session that ended, and would send the rest to the next one.
    aedes.on('connackSent', ({ sessionPresent }, client) => {
      if (!sessionPresent) Object.assign(client, { _cleanStart: true })
    })
    aedes.on('clientDisconnect', client => this.#forget(client))
    return aedes
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
    const refusal = this.#handler.refuse(connection, packet)
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
    const known = this.#connections.get(client)
    if (known) return known
    // Not registered yet, or forgotten already: a last will is published after that.
    return new BrokerConnection(client, this.#nextNumber)
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
    this.#connections.set(client, new BrokerConnection(client, this.#nextNumber))
    // aedes does not tell the end of a connection that ended while it was taken over.
    client.conn.once('close', () => this.#forget(client))
  }

  #forget(client: Client): void {
    const connection = this.#connections.get(client)
    this.#connections.delete(client)
    if (connection) this.#handler.disconnected(connection)
  }
}

const listen = (server: TcpServer | HttpServer, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })

// A server that never listened reports an error on close, which says nothing new.
const closeServer = (server: TcpServer | HttpServer): Promise<void> =>
  new Promise(resolve => server.close(() => resolve()))

function portOf(server: TcpServer | HttpServer): number {
  const address: AddressInfo | string | null = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}
