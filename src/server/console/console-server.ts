import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Observable } from 'rxjs'
import { randomBytes } from '../../core/util/bytes.js'
import { systemClock } from '../../core/util/clock.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { type GivenServer, HEAD_TIMEOUTS, isBelow, mountOn } from '../../node/net/http.js'
import { checkTls, TlsHandshakes, type TlsMaterial, tlsOptions } from '../../node/net/tls.js'
import { UnauthenticatedConnections } from '../../node/net/unauthenticated-connections.js'
import { packageFile } from '../../node/package-files.js'
import type { LoginRequest, LoginResult, Method } from '../access/login.js'
import { Api } from './api.js'
import { brokerUrlOf, type ConsoleOptions, checkLogin, checkToken, pathOf, urlOf } from './console-options.js'
import type { ConsoleStore } from './console-store.js'
import { reachableBy, refuse, securityHeaders } from './http.js'
import { Page } from './page.js'
import { ConsoleRateLimiter, RequestAuthorizer } from './request-authorizer.js'

export type { ConsoleOptions } from './console-options.js'

const PAGE = 'dist/server/console/page/'
const TOKEN_BYTES = 32
const MOST_CONNECTIONS = 256
/** Of those, so many may be without the token, so that there is always room for those who have it. */
const MOST_STRANGERS = 128
const IDLE_TIMEOUT = 60_000

/** Serves the page of the console and its API. It outlives the store's restarts. */
export class ConsoleServer implements AsyncDisposable {
  /** It lets its bearer do everything. */
  readonly token: string
  readonly #options: ConsoleOptions
  readonly #brokerUrl: string
  readonly #path: string
  readonly #publicUrl: URL | undefined
  readonly #access: RequestAuthorizer
  readonly #limiter: ConsoleRateLimiter
  readonly #page: Page
  readonly #api: Api
  readonly #http: GivenServer
  readonly #handshakes = new TlsHandshakes()
  readonly #unauthenticated = new UnauthenticatedConnections(MOST_STRANGERS, ({ remoteAddress }) =>
    this.#limiter.cut(remoteAddress, `${MOST_STRANGERS} connections have not shown the token`),
  )
  readonly #leave: () => void
  #closed: Promise<void> | undefined

  private constructor(store: ConsoleStore, options: ConsoleOptions) {
    const { clock = systemClock, page = packageFile(PAGE), seed, version, server, brokerLogin } = options
    checkToken(options.token)
    this.token = options.token ?? Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
    this.#options = options
    this.#path = pathOf(options)
    this.#publicUrl = urlOf('publicUrl', options.publicUrl, ['http:', 'https:'])
    checkLogin(brokerLogin)
    this.#brokerUrl = brokerUrlOf(options, store)
    this.#access = new RequestAuthorizer(this.token, options.host, this.#publicUrl)
    this.#limiter = new ConsoleRateLimiter(clock, this.#publicUrl !== undefined)
    this.#page = new Page(page)
    this.#api = new Api({ store, seed, version, clock, wsUrl: this.#brokerUrl, brokerLogin })
    this.#http = server ?? this.#own()
    this.#leave = mountOn(this.#http, 'request', {
      isOurs: request => this.#path === '' || isBelow(this.#path, request),
      ours: (request: IncomingMessage, response: ServerResponse) => this.#take(request, response),
      nobodys: (_, response: ServerResponse) => response.writeHead(404).end(),
    })
  }

  /** Starts; rejects with the system's error when the port is taken, throws {@link ArgumentError} for a wrong option. */
  static async start(store: ConsoleStore, options: ConsoleOptions): Promise<ConsoleServer> {
    const server = new ConsoleServer(store, options)
    if (options.server !== undefined) return server
    server.#http.listen(options.port, options.host)
    await once(server.#http, 'listening')
    return server
  }

  /** Where it is, with an address one can open: `publicUrl`, or `http://host:port/` and the path, or `https://` with TLS. */
  get url(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl.href
    const { host } = this.#options
    const open = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
    const scheme = this.#http instanceof HttpsServer ? 'https' : 'http'
    return `${scheme}://${open.includes(':') ? `[${open}]` : open}:${this.port}${this.#path}/`
  }

  /** The TCP port it listens on. */
  get port(): number {
    const address: AddressInfo | string | null = this.#http.address()
    return address !== null && typeof address === 'object' ? address.port : 0
  }

  /** {@link url} with the token, for those who are to get in. A browser does not send it along. */
  get link(): string {
    return `${this.url}#token=${this.token}`
  }

  /** Who came in, or did not, and what it had the store do. Hot. */
  get audit$(): Observable<AuditEvent> {
    return this.#limiter.audit.events$
  }

  /** Shows another certificate to browsers that connect from now on. Throws {@link ArgumentError} unless it is one. */
  setTls(tls: TlsMaterial): void {
    checkTls(tls)
    if (this.#options.server === undefined && this.#http instanceof HttpsServer) this.#http.setSecureContext(tlsOf(tls))
  }

  /** The way by which the page comes in at a store that asks who one is: as the user `console`, with the token. */
  readonly login: Method = Object.assign((request: LoginRequest) => this.#login(request), {
    // Of another `console` the other methods say who it is.
    proofOf: (request: LoginRequest) => (this.#login(request) === undefined ? undefined : ('verifiable' as const)),
  })

  /** Ends all connections and frees the port; a given server goes on without it. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#api.close()
    if (this.#options.server !== undefined) {
      this.#leave()
      return
    }
    const closed = once(this.#http, 'close')
    this.#http.close()
    this.#http.closeAllConnections()
    this.#handshakes.destroy()
    await closed
    this.#limiter.audit.close()
  }

  #login({ username, password, method }: LoginRequest): LoginResult | undefined {
    if (username !== 'console' || password === undefined || method !== undefined) return undefined
    return this.#access.knows(Buffer.from(password).toString()) ? { principal: { id: 'console', username } } : undefined
  }

  #own(): GivenServer {
    const { tls, idleTimeout = IDLE_TIMEOUT } = this.#options
    // A load takes its time; what stands still is ended by the other timeout.
    const settings = { ...HEAD_TIMEOUTS, requestTimeout: 0 }
    const http = tls ? createHttpsServer({ ...settings, ...tlsOf(tls) }) : createServer(settings)
    http.timeout = idleTimeout
    http.maxConnections = MOST_CONNECTIONS
    http.on('drop', ({ remoteAddress } = {}) =>
      this.#limiter.cut(remoteAddress, `there are ${MOST_CONNECTIONS} connections`),
    )
    http.on('connection', (socket: Socket) => this.#unauthenticated.add(socket))
    if (http instanceof HttpsServer) this.#handshakes.watch(http)
    return http
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    this.#answer(request, response).catch(error => refuse(request, response, error))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hostName = this.#access.checkHost(request.headers)
    const headers = securityHeaders(reachableBy(this.#brokerUrl, hostName))
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const [whole = ''] = (request.url ?? '').split('?')
    const path = whole.slice(this.#path.length)
    if (path === '') response.writeHead(308, { location: `${this.#path}/` }).end()
    else if (path.startsWith('/api/')) await this.#call(request, response, path, hostName)
    else {
      this.#limiter.stranger(request)
      await this.#page.answer(request, response, path)
    }
  }

  async #call(request: IncomingMessage, response: ServerResponse, path: string, hostName: string): Promise<void> {
    this.#access.checkOrigin(request.headers)
    if (!this.#access.hasToken(request.headers)) {
      this.#limiter.refused(request)
      throw this.#access.refusal
    }
    this.#unauthenticated.authenticated(request.socket)
    this.#limiter.accepted(request)
    if (this.#api.isOrder(request, path)) this.#limiter.order(request, path)
    await this.#api.answer({ request, response, path, hostName })
  }
}

/** Browsers would ask people for a certificate. */
const tlsOf = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
