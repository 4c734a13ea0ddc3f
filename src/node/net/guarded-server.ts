import { createServer, type Server } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Audit } from './audit.js'
import { ConnectionLimiter } from './connection-limiter.js'
import { HEAD_TIMEOUTS } from './http.js'
import { closeServer, listen } from './listening.js'
import { TlsHandshakes, type TlsMaterial, tlsOptions } from './tls.js'
import { UnauthenticatedConnections } from './unauthenticated-connections.js'

const IDLE_TIMEOUT_MS = 60_000

export interface GuardedServerOptions {
  /** The listener in audit events. */
  readonly name: string
  readonly maxConnections: number
  /** Default: no limit. */
  readonly maxConnectionsPerAddress?: number
  readonly tls: TlsMaterial | undefined
  readonly idleTimeoutMs?: number | undefined
  /** The maximum time for a request, ms. 0 means none. Default: that for its head. */
  readonly requestTimeoutMs?: number
}

/**
 * An HTTP server with limits on idle, slow, unauthenticated and all connections. The limit on unauthenticated ones
 * reserves the other connections for clients that log in.
 */
export class GuardedServer {
  readonly http: Server | HttpsServer
  readonly connections: ConnectionLimiter
  readonly #name: string
  readonly #handshakes = new TlsHandshakes()
  #closed: Promise<void> | undefined

  constructor(options: GuardedServerOptions, audit: Audit, unauthenticated: UnauthenticatedConnections) {
    const { name, maxConnectionsPerAddress = Number.POSITIVE_INFINITY, tls, requestTimeoutMs } = options
    const settings = { ...HEAD_TIMEOUTS, ...(requestTimeoutMs !== undefined && { requestTimeout: requestTimeoutMs }) }
    const limits = { maxConnections: options.maxConnections, maxConnectionsPerAddress }
    this.#name = name
    this.connections = new ConnectionLimiter(limits, cut => audit.reportCut(cut))
    this.http = tls ? createHttpsServer({ ...settings, ...serverTls(tls) }) : createServer(settings)
    this.http.timeout = options.idleTimeoutMs ?? IDLE_TIMEOUT_MS
    this.connections.guard(this.http, name)
    this.http.on('connection', (socket: Socket) => unauthenticated.add(socket))
    if (this.http instanceof HttpsServer) this.#handshakes.watch(this.http, name)
  }

  /** Rejects with the system's error if the port is in use. */
  async listen(port: number, host: string): Promise<void> {
    await listen(this.http, port, host, ({ message }) => this.connections.recordFailedAccept(message, this.#name))
  }

  /** Sets the certificate that new connections use, if this is a server with TLS. */
  setTls(tls: TlsMaterial): void {
    if (this.http instanceof HttpsServer) this.http.setSecureContext(serverTls(tls))
  }

  /** Frees the port and ends TLS handshakes. Other connections stay. */
  stopListening(): void {
    this.#closed ??= closeServer(this.http)
    this.#handshakes.destroy()
  }

  /** Ends all connections and frees the port. */
  async close(): Promise<void> {
    this.stopListening()
    this.http.closeAllConnections()
    await this.#closed
  }
}

/** Limits connections whose client has not logged in, and audits evictions. @param name - the listener */
export const limitUnauthenticated = (name: string, limit: number, audit: Audit): UnauthenticatedConnections =>
  new UnauthenticatedConnections(limit, ({ remoteAddress: address }) =>
    audit.reportCut({
      limit: 'unauthenticated-connections',
      reason: `limit of ${limit} unauthenticated connections`,
      address,
      listener: name,
    }),
  )

/** Returns TLS options without a client CA, because browsers would ask users for a certificate. */
const serverTls = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
