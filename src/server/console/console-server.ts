import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Observable } from 'rxjs'
import { randomBytes } from '../../core/util/bytes.js'
import { backgroundClock } from '../../node/background-clock.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { GuardedServer, limitUnauthenticated } from '../../node/net/guarded-server.js'
import { type GivenServer, isBelow, mountOn } from '../../node/net/http.js'
import { HttpRateLimiter } from '../../node/net/http-rate-limiter.js'
import { addressOf, portOf } from '../../node/net/listening.js'
import { checkTls, type TlsMaterial } from '../../node/net/tls.js'
import type { UnauthenticatedConnections } from '../../node/net/unauthenticated-connections.js'
import { packageFile } from '../../node/package-files.js'
import type { LoginRequest, LoginResult, Method } from '../access/login.js'
import { Api } from './api.js'
import { brokerUrlOf, type ConsoleOptions, checkFaults, checkToken, loginOf, pathOf, urlOf } from './console-options.js'
import type { ConsoleStore } from './console-store.js'
import { replaceWildcardHost, securityHeaders, sendProblem } from './http.js'
import { PageFiles } from './page.js'
import { RequestAuthorizer } from './request-authorizer.js'

export type { ConsoleOptions } from './console-options.js'

const PAGE_FOLDER = 'dist/server/console/page/'
const TOKEN_BYTES = 32
const LIMITS = { name: 'console', maxConnections: 256 } as const
const MAX_UNAUTHENTICATED = 128

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
  readonly #unauthenticated: UnauthenticatedConnections
  readonly #page: PageFiles
  readonly #api: Api
  readonly #http: GivenServer
  /** Undefined with an existing server. */
  readonly #own: GuardedServer | undefined
  readonly #unmount: () => void
  #closed: Promise<void> | undefined

  private constructor(store: ConsoleStore, options: ConsoleOptions) {
    const { clock = backgroundClock, page = packageFile(PAGE_FOLDER), seed, version, server } = options
    const { brokerLogin, faults = false } = options
    checkToken(options.token)
    checkFaults(options, store)
    this.token = options.token ?? Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
    this.#options = options
    this.#path = pathOf(options)
    this.#publicUrl = urlOf('publicUrl', options.publicUrl, ['http:', 'https:'])
    loginOf(brokerLogin)
    this.#brokerUrl = brokerUrlOf(options, store)
    this.#authorizer = new RequestAuthorizer(this.token, options.host, this.#publicUrl)
    this.#limiter = new HttpRateLimiter(clock, 'console', this.#publicUrl !== undefined)
    const { audit } = this.#limiter
    this.#unauthenticated = limitUnauthenticated(LIMITS.name, MAX_UNAUTHENTICATED, audit)
    this.#page = new PageFiles(page)
    // No time limit for a request, because a load may take long. The idle timeout ends stalled ones.
    const settings = { ...LIMITS, tls: options.tls, idleTimeoutMs: options.idleTimeout, requestTimeoutMs: 0 }
    const listener = server ?? new GuardedServer(settings, audit, this.#unauthenticated)
    this.#own = listener instanceof GuardedServer ? listener : undefined
    this.#http = listener instanceof GuardedServer ? listener.http : listener
    this.#api = new Api({ store, seed, version, clock, wsUrl: this.#brokerUrl, brokerLogin, faults })
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
    try {
      await server.#own?.listen(options.port, options.host)
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
    return `${addressOf(this.#http, 'http', open)}${this.#path}/`
  }

  /** The TCP port that the console listens on. */
  get port(): number {
    return portOf(this.#http)
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
    this.#own?.setTls(tls)
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
    if (this.#own === undefined) {
      this.#unmount()
      return
    }
    await this.#own.close()
    this.#limiter.audit.close()
  }

  #login({ username, password, method }: LoginRequest): LoginResult | undefined {
    if (username !== 'console' || password === undefined || method !== undefined) return undefined
    return this.#authorizer.token.matches(Buffer.from(password).toString())
      ? { principal: { id: 'console', username } }
      : undefined
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    this.#handle(request, response).catch((error: unknown) => {
      this.#limiter.recordProblem(request, error)
      sendProblem(request, response, error)
    })
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
    if (!this.#authorizer.token.isIn(request.headers)) {
      this.#limiter.recordFailedLogin(request)
      throw this.#authorizer.tokenProblem
    }
    this.#unauthenticated.onAuthenticated(request.socket)
    this.#limiter.recordLogin(request)
    const audit = (target: string, refusal?: string): void => this.#limiter.recordOperation(request, target, refusal)
    await this.#api.handle({ request, response, path, hostName, audit })
  }
}
