import type { X509Certificate } from 'node:crypto'
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer, TLSSocket, Server as TlsServer } from 'node:tls'
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import type { TurnScheduler } from '../../../node/limits/turn-scheduler.js'
import type { Disconnection } from '../../../node/net/audit.js'
import { ConnectionLimiter, type ConnectionLimits, clientAddress } from '../../../node/net/connection-limiter.js'
import { HEAD_TIMEOUTS, hasSeveralHosts } from '../../../node/net/http.js'
import { closeServer, listen, portOf } from '../../../node/net/listening.js'
import { Origins } from '../../../node/net/origins.js'
import { TlsPeer } from '../../../node/net/peer-chain.js'
import { authoritiesOf, TlsHandshakes, type TlsMaterial, tlsOptions } from '../../../node/net/tls.js'
import { listenerName } from '../session/link.js'
import { connectionEvent } from './connection-freezer.js'
import { ThrottledSocket, WebSocketBufferMeter } from './web-socket.js'

export interface ListenAddresses {
  readonly host: string
  /** The TCP port. 0 selects a free port. */
  readonly port: number
  /** The WebSocket port. 0 selects a free port. */
  readonly wsPort: number
  /** The allowed origins of web pages, in addition to this machine and the host itself. */
  readonly allowedOrigins: readonly string[]
  /** Whether to trust `X-Forwarded-For` from a proxy on this machine, for WebSocket connections. */
  readonly trustProxy?: boolean | undefined
  /** The certificate and key, which enable TLS on both ports. */
  readonly tls?: TlsMaterial | undefined
  /** The limits on connections. Default: unlimited. */
  readonly connections?: ConnectionLimits | undefined
}

export interface WebSocketDetails {
  readonly meter: WebSocketBufferMeter
  readonly remoteAddress: string
}

/** The MQTT stream and the socket below it. Over TCP they are the same object. */
export interface IncomingConnection {
  readonly stream: Duplex
  readonly socket: Socket
  readonly secure?: TlsPeer | undefined
  readonly upgraded?: WebSocketDetails
}

export interface ListenersHost {
  readonly budget: MemoryBudget
  readonly scheduler: TurnScheduler
  readonly maxFrameBytes: number
  accept(arrival: IncomingConnection): void
  onConnectionCut(cut: Disconnection): void
}

/** A WebSocket close code (RFC 6455, section 7.4.1). */
const UNSUPPORTED_DATA = 1003
/** The idle time in ms before the first TCP keep-alive probe. */
const KEEP_ALIVE_DELAY_MS = 60_000
const UNLIMITED = { maxConnections: Number.POSITIVE_INFINITY, maxConnectionsPerAddress: Number.POSITIVE_INFINITY }
const TCP_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS } as const
/**
 * With `allowHalfOpen`, data that precedes the client's FIN is still processed. With TLS, `allowHalfOpen` is set after
 * the handshake, before which no such data exists.
 */
const HALF_OPEN_TCP = { ...TCP_OPTIONS, allowHalfOpen: true }

export class Listeners {
  readonly #tcp: TcpServer
  readonly #http: HttpServer
  readonly #sockets = new Set<Socket>()
  readonly #connectionLimiter: ConnectionLimiter
  readonly #handshakes = new TlsHandshakes()
  readonly #webSockets: WebSocketServer
  readonly #host: ListenersHost
  readonly #trustProxy: boolean
  #authorities: readonly X509Certificate[]

  constructor(addresses: ListenAddresses, listenersHost: ListenersHost) {
    const { host, allowedOrigins, trustProxy = false, tls, connections = UNLIMITED } = addresses
    this.#host = listenersHost
    this.#trustProxy = trustProxy
    this.#authorities = authoritiesOf(tls ?? {})
    this.#tcp = tls ? createTlsServer({ ...TCP_OPTIONS, ...tlsOptions(tls) }) : createTcpServer(HALF_OPEN_TCP)
    this.#tcp.on(connectionEvent(this.#tcp), (socket: Socket) => {
      socket.allowHalfOpen = true
      listenersHost.accept({ stream: socket, socket, secure: this.#peerOf(socket) })
    })
    this.#http = tls
      ? createHttpsServer({ ...HEAD_TIMEOUTS, ...tlsOptions(tls) }, explain)
      : createHttpServer(HEAD_TIMEOUTS, explain)
    this.#connectionLimiter = new ConnectionLimiter(connections, cut => listenersHost.onConnectionCut(cut))
    for (const server of this.servers) {
      const listener = listenerName(server === this.#tcp ? 'tcp' : 'websocket', tls !== undefined)
      if (server instanceof TlsServer) this.#handshakes.watch(server, listener, tls?.clientCa !== undefined)
      // Refused connections take no part in a handshake.
      this.#connectionLimiter.guard(server, listener)
      server.on(connectionEvent(server), (socket: Socket) => this.#track(socket))
    }
    const origins = new Origins(host, allowedOrigins)
    this.#webSockets = new WebSocketServer({
      noServer: true,
      maxPayload: listenersHost.maxFrameBytes,
      handleProtocols: protocols => (protocols.has('mqtt') ? 'mqtt' : false),
      verifyClient: ({ req }: { req: IncomingMessage }, done) => {
        if (hasSeveralHosts(req)) done(false, 400, 'Bad Request')
        else if (origins.allow(req.headers)) done(true)
        else {
          this.#onForeignOrigin(req)
          done(false, 403, 'Forbidden')
        }
      },
    })
    this.#http.on('upgrade', (request, _socket, head) => this.#upgrade(request, head))
  }

  get servers(): readonly TcpServer[] {
    return [this.#tcp, this.#http]
  }

  /** The network connections, authenticated or not. */
  get networkConnections(): Pick<ConnectionLimiter, 'count' | 'refused' | 'addresses'> {
    return this.#connectionLimiter
  }

  get port(): number {
    return portOf(this.#tcp)
  }

  get wsPort(): number {
    return portOf(this.#http)
  }

  async listen({ host, port, wsPort }: ListenAddresses): Promise<void> {
    for (const [server, serverPort] of [
      [this.#tcp, port],
      [this.#http, wsPort],
    ] as const) {
      const listener = listenerName(server === this.#tcp ? 'tcp' : 'websocket', server instanceof TlsServer)
      await listen(server, serverPort, host, ({ message }) =>
        this.#connectionLimiter.recordFailedAccept(message, listener),
      )
    }
  }

  setTls(tls: TlsMaterial): void {
    this.#authorities = authoritiesOf(tls)
    for (const server of this.servers) if (server instanceof TlsServer) server.setSecureContext(tlsOptions(tls))
  }

  /** Closes all connections after their written data has been sent. */
  async close(): Promise<void> {
    const closed = Promise.all([closeServer(this.#tcp), closeServer(this.#http)])
    for (const socket of this.#sockets) socket.destroySoon()
    this.#handshakes.destroy()
    await closed
  }

  #onForeignOrigin(request: IncomingMessage): void {
    const { origin, host } = request.headers
    this.#host.onConnectionCut({
      limit: 'origin',
      reason: `page of ${origin} at ${host}`,
      address: this.#addressOf(request),
      listener: listenerName('websocket', this.#http instanceof TlsServer),
    })
  }

  #addressOf({ socket, headers }: IncomingMessage): string {
    return clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }

  #upgrade(request: IncomingMessage, head: Buffer): void {
    const socket = request.socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS)
    const throttled = new ThrottledSocket(socket, this.#host.scheduler)
    const remoteAddress = this.#addressOf(request)
    this.#webSockets.handleUpgrade(request, throttled, head, webSocket =>
      this.#connected(webSocket, socket, remoteAddress),
    )
  }

  #connected(webSocket: WebSocket, socket: Socket, remoteAddress: string): void {
    const meter = new WebSocketBufferMeter(socket, this.#host.budget)
    // This listener is registered before the stream's own listener.
    webSocket.on('message', (data: Buffer, isBinary) => {
      meter.onFrame(data.length)
      // Control packets must be sent in binary frames (MQTT 5.0, section 6).
      if (!isBinary) webSocket.close(UNSUPPORTED_DATA)
    })
    for (const event of ['ping', 'pong']) webSocket.on(event, (data: Buffer) => meter.onControlFrame(data.length))
    const stream = createWebSocketStream(webSocket)
    stream.on('data', (chunk: Uint8Array) => meter.onRead(chunk.length))
    stream.on('close', () => meter.clear())
    this.#host.accept({ stream, socket, secure: this.#peerOf(socket), upgraded: { meter, remoteAddress } })
  }

  #peerOf(socket: Socket): TlsPeer | undefined {
    return socket instanceof TLSSocket ? new TlsPeer(socket, this.#authorities) : undefined
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

function explain(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(426).end('This is an MQTT broker: use WebSocket\n')
}
