import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { HEAD_TIMEOUTS } from './http.js'
import type { HttpRateLimiter } from './http-rate-limiter.js'
import { TlsHandshakes, type TlsMaterial, tlsOptions } from './tls.js'
import { UnauthenticatedConnections } from './unauthenticated-connections.js'

const IDLE_TIMEOUT_MS = 60_000

export interface GuardedServerOptions {
  /** The listener in audit events. */
  readonly name: string
  readonly maxConnections: number
  /** The limit on connections without the token. It reserves the other connections for clients that have the token. */
  readonly maxUnauthenticated: number
  readonly tls: TlsMaterial | undefined
  readonly idleTimeoutMs?: number | undefined
  /** The maximum time for a request, ms. 0 means none. Default: that for its head. */
  readonly requestTimeoutMs?: number
}

/** An HTTP server for clients with a token, with limits on idle, slow and unauthenticated connections. */
export class GuardedServer {
  readonly http: Server | HttpsServer
  readonly #handshakes = new TlsHandshakes()
  readonly #unauthenticated: UnauthenticatedConnections

  constructor(options: GuardedServerOptions, limiter: HttpRateLimiter) {
    const { name, maxConnections, maxUnauthenticated, tls, idleTimeoutMs = IDLE_TIMEOUT_MS, requestTimeoutMs } = options
    const settings = { ...HEAD_TIMEOUTS, ...(requestTimeoutMs !== undefined && { requestTimeout: requestTimeoutMs }) }
    this.#unauthenticated = new UnauthenticatedConnections(maxUnauthenticated, ({ remoteAddress }) =>
      limiter.recordDisconnect(remoteAddress, `limit of ${maxUnauthenticated} connections without the token reached`),
    )
    this.http = tls ? createHttpsServer({ ...settings, ...serverTls(tls) }) : createServer(settings)
    this.http.timeout = idleTimeoutMs
    this.http.maxConnections = maxConnections
    this.http.on('drop', ({ remoteAddress } = {}) =>
      limiter.recordDisconnect(remoteAddress, `limit of ${maxConnections} connections reached`),
    )
    this.http.on('connection', (socket: Socket) => this.#unauthenticated.add(socket))
    if (this.http instanceof HttpsServer) this.#handshakes.watch(this.http, name)
  }

  onAuthenticated(socket: Socket): void {
    this.#unauthenticated.onAuthenticated(socket)
  }

  async listen(port: number, host: string): Promise<void> {
    this.http.listen(port, host)
    await once(this.http, 'listening')
  }

  /** Sets the certificate that new connections use, if this is a server with TLS. */
  setTls(tls: TlsMaterial): void {
    if (this.http instanceof HttpsServer) this.http.setSecureContext(serverTls(tls))
  }

  /** Ends all connections and frees the port. */
  async close(): Promise<void> {
    const closed = once(this.http, 'close')
    this.http.close()
    this.http.closeAllConnections()
    this.#handshakes.destroy()
    await closed
  }
}

/** Returns TLS options without a client CA, because browsers would ask users for a certificate. */
const serverTls = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
