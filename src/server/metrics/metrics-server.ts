import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Observable } from 'rxjs'
import { afterIo, systemClock } from '../../core/util/clock.js'
import { ArgumentError, reason } from '../../core/util/errors.js'
import { isAddress, isLoopback, nameOf } from '../../core/util/host-name.js'
import { backgroundClock } from '../../node/background-clock.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { BearerToken } from '../../node/net/bearer-token.js'
import { GuardedServer, limitUnauthenticated } from '../../node/net/guarded-server.js'
import { hasSeveralHosts } from '../../node/net/http.js'
import { HttpProblem } from '../../node/net/http-problem.js'
import { HttpRateLimiter } from '../../node/net/http-rate-limiter.js'
import { addressOf } from '../../node/net/listening.js'
import { checkTls, type TlsMaterial } from '../../node/net/tls.js'
import { METRICS, type MetricDefinition } from './definitions.js'
import { EventCounters } from './event-counters.js'
import { failuresOf, healthOf, isAttached, type MonitoredStore } from './health.js'
import { MetricsRegistry, type Samples } from './registry.js'
import { attachedSamples, ProcessSamples, storeSamples } from './store-samples.js'

/** The options of `serveMetrics`: address, token and TLS. */
export interface MetricsOptions {
  /** The address to listen on. Default: `127.0.0.1`, which only this machine can reach. */
  readonly host?: string | undefined
  /** The TCP port. 0 selects a free port. Default: 9464. */
  readonly port?: number | undefined
  /**
   * The bearer token for `/metrics` and `/healthz`: 32 to 512 letters, digits, `-` and `_`. Required if clients of the
   * store must log in, if the store has a policy, or if other machines can reach `host`, because metrics have the names
   * and addresses of users.
   */
  readonly token?: string | undefined
  /** Listens with TLS. `clientCa` is ignored. */
  readonly tls?: TlsMaterial | undefined
}

const DEFAULT_PORT = 9_464
const LIMITS = { name: 'metrics', maxConnections: 64 } as const
const MAX_UNAUTHENTICATED = 32
const CONTENT_TYPE = { text: 'text/plain; charset=utf-8', health: 'application/health+json' } as const

/** Serves metrics and health checks of a store over HTTP. */
export class MetricsServer implements AsyncDisposable {
  readonly #store: MonitoredStore
  readonly #version: string
  readonly #host: string
  #token: BearerToken | undefined
  readonly #limiter = new HttpRateLimiter(backgroundClock, 'metrics', false)
  readonly #unauthenticated = limitUnauthenticated(LIMITS.name, MAX_UNAUTHENTICATED, this.#limiter.audit)
  readonly #server: GuardedServer
  readonly #registry = new MetricsRegistry()
  readonly #counters = new EventCounters(this.#registry, systemClock)
  readonly #process = new ProcessSamples(systemClock)
  #exposition: Promise<string> | undefined
  #closed: Promise<void> | undefined

  private constructor(store: MonitoredStore, version: string, { host = '127.0.0.1', token, tls }: MetricsOptions) {
    this.#store = store
    this.#version = version
    this.#host = host
    this.#token = token === undefined ? undefined : new BearerToken(token)
    this.#server = new GuardedServer({ ...LIMITS, tls }, this.#limiter.audit, this.#unauthenticated)
    this.#server.http.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        this.#limiter.recordProblem(request, error)
        sendError(response, error)
      })
    })
  }

  static async start(store: MonitoredStore, version: string, options: MetricsOptions): Promise<MetricsServer> {
    checkMetricsAccess({ hasAccessControl: !isAttached(store) && store.hasAccessControl }, options)
    const server = new MetricsServer(store, version, options)
    try {
      await server.#server.listen(options.port ?? DEFAULT_PORT, server.#host)
      return server
    } catch (error) {
      server.#stop()
      throw error
    }
  }

  /** The address, such as `http://127.0.0.1:9464/`. */
  get url(): string {
    return `${addressOf(this.#server.http, 'http', this.#host)}/`
  }

  /** Emits logins with the token and rejected ones for the audit log. Hot. */
  get audit$(): Observable<AuditEvent> {
    return this.#limiter.audit.events$
  }

  /** Sets the certificate that new connections use. Throws {@link ArgumentError} for an invalid certificate. */
  setTls(tls: TlsMaterial): void {
    checkTls(tls)
    this.#server.setTls(tls)
  }

  /** Sets the token that further requests need, as in {@link MetricsOptions}. Throws {@link ArgumentError}. */
  setToken(token: string): void {
    checkToken(token)
    this.#token = new BearerToken(token)
  }

  /** Closes all connections and frees the port. The store keeps running. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#stop()
    await this.#server.close()
  }

  #stop(): void {
    this.#counters.close()
    this.#process.close()
    this.#limiter.audit.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new HttpProblem(405, 'method', 'unsupported method: use GET or HEAD')
    if (hasSeveralHosts(request)) throw new HttpProblem(400, 'host', 'the request has more than one Host header')
    if (!this.#isKnownHost(request))
      throw new HttpProblem(403, 'host', 'unknown host name: use an address or localhost')
    if (path === '/metrics' || path === '/healthz') {
      this.#authorize(request)
      if (path === '/healthz') this.#sendHealth(response)
      else respond(response, 200, await this.#metrics(), this.#registry.contentType)
      return
    }
    this.#limiter.limitUnauthenticated(request)
    if (path === '/livez') respond(response, 200, 'live')
    else if (path === '/readyz') this.#sendReadiness(response)
    else throw new HttpProblem(404, 'path', 'see /metrics, /livez, /readyz, /healthz')
  }

  /** Throws {@link HttpProblem} for a request without the token, if there is one. */
  #authorize(request: IncomingMessage): void {
    if (this.#token !== undefined) {
      if (!this.#token.isIn(request.headers)) {
        this.#limiter.recordFailedLogin(request)
        throw new HttpProblem(401, 'token', 'the bearer token is missing or wrong', { 'www-authenticate': 'Bearer' })
      }
      this.#limiter.recordLogin(request)
    }
    this.#unauthenticated.onAuthenticated(request.socket)
  }

  #sendReadiness(response: ServerResponse): void {
    const failures = failuresOf(healthOf(this.#store, this.#version))
    if (failures.length === 0) respond(response, 200, 'ready')
    else respond(response, 503, `not ready: ${failures.join(', ')}`)
  }

  #sendHealth(response: ServerResponse): void {
    const health = healthOf(this.#store, this.#version)
    respond(response, health.status === 'fail' ? 503 : 200, JSON.stringify(health), CONTENT_TYPE.health)
  }

  /**
   * Formats the metrics once for all requests of a turn of the event loop, because formatting blocks the process. It
   * begins after the turn, so that no request gets values from before its arrival.
   */
  #metrics(): Promise<string> {
    this.#exposition ??= new Promise<void>(resolve => afterIo(resolve))
      .then(() => this.#format())
      .finally(() => {
        this.#exposition = undefined
      })
    return this.#exposition
  }

  #format(): Promise<string> {
    const [store, version] = [this.#store, this.#version]
    const [counts, process] = [this.#counters.samples(), this.#process.samples()]
    if (isAttached(store))
      return this.#registry.expose({ ...withoutBroker(counts), ...attachedSamples(store, version), ...process })
    const samples: Samples = { ...counts, ...storeSamples(store, version), ...process }
    return this.#registry.expose(samples)
  }

  /**
   * Returns whether a request may be for this server. Without a token, a page at a foreign name that resolves to this
   * machine could otherwise read the metrics (DNS rebinding).
   */
  #isKnownHost({ headers: { host = '' } }: IncomingMessage): boolean {
    const name = nameOf(host)
    return this.#token !== undefined || (name !== undefined && (isLoopback(name) || isAddress(name)))
  }
}

/** The channels of events that only a store with a broker publishes. */
const BROKER_CHANNELS = ['server:connection', 'server:publish', 'server:drop']

/** Returns the counts that a store at another broker has. */
function withoutBroker(counts: Partial<Samples>): Partial<Samples> {
  const definitions: Readonly<Record<string, MetricDefinition>> = METRICS
  const own = Object.entries(counts).filter(([name]) => !BROKER_CHANNELS.includes(definitions[name]?.source ?? ''))
  return Object.fromEntries(own)
}

/** Throws {@link ArgumentError} if others could read the metrics, or for a token that could be guessed. */
export function checkMetricsAccess(
  store: { readonly hasAccessControl: boolean },
  { host = '127.0.0.1', token, tls }: MetricsOptions,
): void {
  if (tls !== undefined) checkTls(tls)
  if (host === '') throw new ArgumentError('Expected `host` to be an address, got an empty string')
  if (token === undefined) {
    if (!store.hasAccessControl && (host === '::1' || isLoopback(host))) return
    const who = store.hasAccessControl
      ? 'the store limits what its clients may see'
      : `other machines can reach ${host}`
    throw new ArgumentError(`Expected \`token\` for metrics, which name users and their addresses, because ${who}`)
  }
  checkToken(token)
}

function checkToken(token: string): void {
  // The message omits the value, because it is a secret.
  if (typeof token !== 'string' || !/^[\w-]{32,512}$/.test(token))
    throw new ArgumentError('Expected `token` to be 32 to 512 random letters, digits, `-` and `_`')
}

function sendError(response: ServerResponse, error: unknown): void {
  const { status, message, headers } =
    error instanceof HttpProblem ? error : new HttpProblem(500, 'failed', reason(error))
  if (!response.headersSent)
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value)
  respond(response, status, message)
}

function respond(response: ServerResponse, status: number, body: string, type: string = CONTENT_TYPE.text): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  response.end(type === CONTENT_TYPE.text ? `${body}\n` : body)
}
