import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { createWebSocketStream, WebSocketServer } from 'ws'

/** Where to listen. */
export interface Addresses {
  readonly host: string
  /** TCP port, 0 for any. */
  readonly port: number
  /** WebSocket port, 0 for any. */
  readonly wsPort: number
}

/** Takes a connection: what it carries, and the socket below, which over TCP is the same. */
export type Accept = (stream: Duplex, socket: Socket, request?: IncomingMessage) => void

/** MQTT over TCP and over WebSocket. */
export class Listeners {
  readonly #tcp: TcpServer
  readonly #sockets = new Set<Socket>()
  readonly #http: HttpServer
  readonly #webSockets: WebSocketServer

  /** @param largestFrame - of a WebSocket, bytes */
  constructor(largestFrame: number, accept: Accept) {
    this.#tcp = createTcpServer({ noDelay: true }, socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      accept(socket, socket)
    })
    this.#http = createHttpServer((_request, response) =>
      response.writeHead(426).end('This is an MQTT broker: use WebSocket\n'),
    )
    this.#webSockets = new WebSocketServer({
      server: this.#http,
      maxPayload: largestFrame,
      handleProtocols: protocols => (protocols.has('mqtt') ? 'mqtt' : false),
    })
    this.#webSockets.on('connection', (socket, request) => {
      request.socket.setNoDelay(true)
      accept(createWebSocketStream(socket), request.socket, request)
    })
    // Its server's errors arrive here as well; listening reports them.
    this.#webSockets.on('error', () => undefined)
  }

  get servers(): readonly TcpServer[] {
    return [this.#tcp, this.#http]
  }

  get port(): number {
    return portOf(this.#tcp)
  }

  get wsPort(): number {
    return portOf(this.#http)
  }

  /** Rejects when an address is taken. */
  async listen({ host, port, wsPort }: Addresses): Promise<void> {
    await listen(this.#tcp, port, host)
    await listen(this.#http, wsPort, host)
  }

  /** Cuts what is connected, and frees the ports. */
  async close(): Promise<void> {
    for (const socket of this.#webSockets.clients) socket.terminate()
    for (const socket of this.#sockets) socket.destroy()
    this.#http.closeAllConnections()
    await Promise.all([closeServer(this.#tcp), closeServer(this.#http)])
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
