import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Observable } from 'rxjs'
import { randomBytes } from '../../core/util/bytes.js'
import { type Clock, scheduleUnref, systemClock } from '../../core/util/clock.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { type GivenServer, HEAD_TIMEOUTS, isBelow, mountOn } from '../../node/net/http.js'
import { HttpRateLimiter } from '../../node/net/http-rate-limiter.js'
import { checkTls, TlsHandshakes, type TlsMaterial, tlsOptions } from '../../node/net/tls.js'
import { UnauthenticatedConnections } from '../../node/net/unauthenticated-connections.js'
import { packageFile } from '../../node/package-files.js'
import type { LoginRequest, LoginResult, Method } from '../access/login.js'
import { Api } from './api.js'
import { brokerUrlOf, type ConsoleOptions, checkToken, loginOf, pathOf, urlOf } from './console-options.js'
import type { ConsoleStore } from './console-store.js'
import { replaceWildcardHost, securityHeaders, sendProblem } from './http.js'
import { PageFiles } from './page.js'
import { RequestAuthorizer } from './request-authorizer.js'

export type { ConsoleOptions } from './console-options.js'

const PAGE_FOLDER = 'dist/server/console/page/'
const TOKEN_BYTES = 32
const MAX_CONNECTIONS = 256
/** The limit on connections without the token. It reserves the other connections for clients that have the token. */
const MAX_UNAUTHENTICATED = 128
const IDLE_TIMEOUT_MS = 60_000

/** The system clock, whose timers do not keep the process alive: rates are sampled until the console is closed. */
const BACKGROUND_CLOCK: Clock = { ...systemClock, schedule: scheduleUnref }

/** Serves the console page and its API. One console server serves all runs of the store. */
export class ConsoleServer implements AsyncDisposable {
  /** The token that grants full access to the console. Keep it secret. */
  readonly token: string
  readonly #options: ConsoleOptions
  readonly #brokerUrl: string
  readonly #path: string
  readonly #publicUrl: URL | undefined
  readonly #authorizer: RequestAuthorizer
  readonly #limiter: HttpRateLimiter
  readonly #page: PageFiles
  readonly #api: Api
  readonly #http: GivenServer
  readonly #handshakes = new TlsHandshakes()
  readonly #unauthenticated = new UnauthenticatedConnections(MAX_UNAUTHENTICATED, ({ remoteAddress }) =>
    this.#limiter.recordDisconnect(
      remoteAddress,
      `limit of ${MAX_UNAUTHENTICATED} connections without the token reached`,
    ),
  )
  readonly #unmount: () => void
  #closed: Promise<void> | undefined

  private constructor(store: ConsoleStore, options: ConsoleOptions) {
    const { clock = BACKGROUND_CLOCK, page = packageFile(PAGE_FOLDER), seed, version, server, brokerLogin } = options
    checkToken(options.token)
    this.token = options.token ?? Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
    this.#options = options
    this.#path = pathOf(options)
    this.#publicUrl = urlOf('publicUrl', options.publicUrl, ['http:', 'https:'])
    loginOf(brokerLogin)
    this.#brokerUrl = brokerUrlOf(options, store)
    this.#authorizer = new RequestAuthorizer(this.token, options.host, this.#publicUrl)
    this.#limiter = new HttpRateLimiter(clock, 'console', this.#publicUrl !== undefined)
    this.#page = new PageFiles(page)
    this.#http = server ?? this.#createServer()
    this.#api = new Api({ store, seed, version, clock, wsUrl: this.#brokerUrl, brokerLogin })
    this.#unmount = mountOn(this.#http, 'request', {
      isOurs: request => this.#path === '' || isBelow(this.#path, request),
      ours: (request: IncomingMessage, response: ServerResponse) => this.#onRequest(request, response),
      unclaimed: (_, response: ServerResponse) => response.writeHead(404).end(),
    })
  }

  /**
   * Starts a console server. Rejects with the system's error if the port is in use, and with {@link ArgumentError} for
   * an invalid option.
   */
  static async start(store: ConsoleStore, options: ConsoleOptions): Promise<ConsoleServer> {
    const server = new ConsoleServer(store, options)
    if (options.server !== undefined) return server
    try {
      server.#http.listen(options.port, options.host)
      await once(server.#http, 'listening')
      return server
    } catch (error) {
      server.#api.close()
      server.#limiter.audit.close()
      throw error
    }
  }

  /** The URL for browsers: `publicUrl`, or `http://host:port/` with the path (`https://` with TLS). */
  get url(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl.href
    const { host } = this.#options
    const open = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
    const scheme = this.#http instanceof HttpsServer ? 'https' : 'http'
    return `${scheme}://${open.includes(':') ? `[${open}]` : open}:${this.port}${this.#path}/`
  }

  /** The TCP port that the console listens on. */
  get port(): number {
    const address: AddressInfo | string | null = this.#http.address()
    return address !== null && typeof address === 'object' ? address.port : 0
  }

  /** The {@link url} with the token in its fragment, which browsers do not send to the server. */
  get link(): string {
    return `${this.url}#token=${this.token}`
  }

  /** Emits logins, rejections and actions for the audit log. Hot. */
  get audit$(): Observable<AuditEvent> {
    return this.#limiter.audit.events$
  }

  /** Sets the certificate that new connections use. Throws {@link ArgumentError} for an invalid certificate. */
  setTls(tls: TlsMaterial): void {
    checkTls(tls)
    if (this.#options.server === undefined && this.#http instanceof HttpsServer) this.#http.setSecureContext(tlsOf(tls))
  }

  /**
   * Authenticates the page at a broker that requires logins. The page logs in as the user `console`, with the token.
   */
  readonly login: Method = Object.assign((request: LoginRequest) => this.#login(request), {
    // The other methods decide about a user `console` that does not have the token.
    proofOf: (request: LoginRequest) => (this.#login(request) === undefined ? undefined : ('verifiable' as const)),
  })

  /** Closes all connections and frees the port. An existing server keeps running. */
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
      this.#unmount()
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
    return this.#authorizer.isToken(Buffer.from(password).toString())
      ? { principal: { id: 'console', username } }
      : undefined
  }

  #createServer(): GivenServer {
    const { tls, idleTimeout = IDLE_TIMEOUT_MS } = this.#options
    // The request timeout is off, because a load may take long. `timeout` closes idle connections.
    const settings = { ...HEAD_TIMEOUTS, requestTimeout: 0 }
    const http = tls ? createHttpsServer({ ...settings, ...tlsOf(tls) }) : createServer(settings)
    http.timeout = idleTimeout
    http.maxConnections = MAX_CONNECTIONS
    http.on('drop', ({ remoteAddress } = {}) =>
      this.#limiter.recordDisconnect(remoteAddress, `limit of ${MAX_CONNECTIONS} connections reached`),
    )
    http.on('connection', (socket: Socket) => this.#unauthenticated.add(socket))
    if (http instanceof HttpsServer) this.#handshakes.watch(http, 'console')
    return http
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    this.#handle(request, response).catch(error => sendProblem(request, response, error))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hostName = this.#authorizer.checkHost(request)
    const headers = securityHeaders(replaceWildcardHost(this.#brokerUrl, hostName))
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const [whole = ''] = (request.url ?? '').split('?')
    const path = whole.slice(this.#path.length)
    if (path === '') response.writeHead(308, { location: `${this.#path}/` }).end()
    else if (path.startsWith('/api/')) await this.#handleApi(request, response, path, hostName)
    else {
      this.#limiter.limitUnauthenticated(request)
      await this.#page.serve(request, response, path)
    }
  }

  async #handleApi(request: IncomingMessage, response: ServerResponse, path: string, hostName: string): Promise<void> {
    this.#authorizer.checkOrigin(request.headers)
    if (!this.#authorizer.hasToken(request.headers)) {
      this.#limiter.recordFailedLogin(request)
      throw this.#authorizer.tokenProblem
    }
    this.#unauthenticated.onAuthenticated(request.socket)
    this.#limiter.recordLogin(request)
    if (this.#api.isAudited(request, path)) this.#limiter.recordAction(request, path)
    await this.#api.handle({ request, response, path, hostName })
  }
}

/** Returns TLS options without a client CA, because browsers would ask users for a certificate. */
const tlsOf = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
