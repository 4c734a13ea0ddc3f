import type { Duplex } from 'node:stream'
import type { Observable } from 'rxjs'
import { ArgumentError, StateStoreError } from '../../core/util/errors.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { GuardedServer, limitUnauthenticated } from '../../node/net/guarded-server.js'
import { type GivenServer, isBelow, mountOn } from '../../node/net/http.js'
import { addressOf, portOf } from '../../node/net/listening.js'
import { Origins } from '../../node/net/origins.js'
import { ReportSubject } from '../../node/net/report-subject.js'
import { warnIfExposed } from '../../node/net/security-warning.js'
import { checkTls, type TlsMaterial } from '../../node/net/tls.js'
import { checkHub, hubKey } from '../wire/rules.js'
import { createAuthenticator, isGuessable } from './authenticate.js'
import { MAX_PENDING_HANDSHAKES, refuseHandshake } from './handshake.js'
import { HandshakeValidator, LoginGuard } from './handshake-validator.js'
import { Hub } from './hub.js'
import { Hubs } from './hubs.js'
import { SenderRateLimiter } from './sender-rate-limiter.js'
import { type CheckedServeOptions, checkServeOptions, type ServePubSubOptions } from './serve-options.js'
import { AccessTokens } from './tokens.js'
import { Upgrades } from './upgrade.js'

/** The server's name in audit events. */
const LISTENER = 'hub'

/** A running server. See {@link servePubSub}. */
export class PubSubServer implements AsyncDisposable {
  readonly #options: CheckedServeOptions
  readonly #hubs: Hubs
  readonly #tokens: AccessTokens | undefined
  readonly #upgrades: Upgrades
  readonly #http: GivenServer
  /** Undefined with a given server. */
  readonly #own: GuardedServer | undefined
  readonly #unmount: () => void
  #stopWarning: () => void = () => undefined
  readonly #loginGuard: LoginGuard
  readonly #senderRateLimiter: SenderRateLimiter
  readonly #faults$ = new ReportSubject<unknown>(
    count => new StateStoreError('overflow', `${count} further faults at the same time were not reported`),
  )
  /** Emits errors thrown by the function `authenticate`, which are not sent to clients. Hot. */
  readonly faults$: Observable<unknown> = this.#faults$.asObservable()
  #closed: Promise<void> | undefined

  private constructor(options: CheckedServeOptions) {
    const { authenticate, path, clock, hubs, server, maxConnections } = options
    this.#options = options
    const onError = (error: unknown): void => this.#faults$.next(error)
    this.#hubs = new Hubs({ ...options, onError }, options.maxWaitingBytes, hubs)
    const isKey = typeof authenticate === 'object' && 'key' in authenticate
    const tokens = isKey ? new AccessTokens(authenticate.key) : authenticate
    this.#tokens = tokens instanceof AccessTokens ? tokens : undefined
    this.#loginGuard = new LoginGuard(clock, options.publicUrl !== undefined, isGuessable(authenticate))
    this.#senderRateLimiter = new SenderRateLimiter(options, clock)
    const [loginGuard, senderRateLimiter] = [this.#loginGuard, this.#senderRateLimiter]
    const admission = { ...options, origins: allowedOriginsOf(options) }
    const authenticator = createAuthenticator(tokens, path, clock, onError)
    const validator = new HandshakeValidator(this.#hubs, authenticator, loginGuard, senderRateLimiter, admission)
    const spare = spareConnections(maxConnections)
    const unauthenticated = limitUnauthenticated(LISTENER, spare, loginGuard.audit)
    this.#upgrades = new Upgrades({ clock, validator, loginGuard, unauthenticated, onError })
    const limits = { ...options, name: LISTENER, maxConnections: maxConnections + spare + CLOSING_MARGIN }
    const listener = server ?? new GuardedServer(limits, loginGuard.audit, unauthenticated)
    this.#own = listener instanceof GuardedServer ? listener : undefined
    this.#http = listener instanceof GuardedServer ? listener.http : listener
    this.#own?.http.on('request', (_request, response) => {
      response.writeHead(400, { connection: 'close' }).end('This is a Web PubSub hub: use WebSocket\n')
    })
    this.#unmount = mountOn(this.#http, 'upgrade', {
      isOurs: request => server === undefined || isBelow(path, request),
      ours: (request, stream: Duplex, head: Buffer) => this.#upgrades.handle(request, stream, head),
      unclaimed: (_, stream: Duplex) => refuseHandshake(stream, { status: 404, text: 'There is nothing here' }),
    })
  }

  /**
   * Starts a server. Throws {@link ArgumentError} for invalid options, and rejects with the system's error if the port
   * is in use.
   */
  static async start(options: ServePubSubOptions): Promise<PubSubServer> {
    const server = new PubSubServer(checkServeOptions(options))
    const { port, host } = server.#options
    try {
      await server.#own?.listen(port, host)
      server.#warnIfAnonymous()
      return server
    } catch (error) {
      await server.close()
      throw error
    }
  }

  get port(): number {
    return portOf(this.#http)
  }

  /** The number of times that a sender was throttled because it exceeded its rate limit. */
  get pauses(): number {
    return this.#senderRateLimiter.pauses
  }

  get stats(): HubStats {
    return {
      sessions: this.#hubs.sessionCount,
      connections: this.#upgrades.connections,
      handshakes: this.#upgrades.pending,
      networkConnections: this.#own?.connections.count ?? 0,
      waitingBytes: this.#hubs.usedBytes,
      pauses: this.pauses,
      refusedHandshakes: this.#upgrades.refused,
      refusedConnections: this.#own?.connections.refused ?? 0,
    }
  }

  /** Emits accepted and refused logins. Hot. */
  get audit$(): Observable<AuditEvent> {
    return this.#loginGuard.audit.events$
  }

  /** The `publicUrl` if set, otherwise `ws://host:port`, or `wss://host:port` with TLS. */
  get url(): string {
    const { host, publicUrl } = this.#options
    if (publicUrl !== undefined) return publicUrl
    return addressOf(this.#http, 'ws', host)
  }

  /** Opens a hub. Names are case-insensitive. Throws {@link ArgumentError} for a name that is not permitted. */
  hub(name: string): Hub {
    checkHub(name)
    const { path, clock } = this.#options
    const hubPath = `${path}/hubs/${hubKey(name)}`
    const url = this.url
    return new Hub(hubKey(name), url + hubPath, this.#hubs.openRetained(name), async options => {
      if (this.#tokens === undefined) throw new ArgumentError('Tokens need a server with `authenticate: { key }`')
      return this.#tokens.sign(url.replace(/^ws/, 'http') + hubPath, options, clock.now())
    })
  }

  /**
   * Sets the certificate that new connections use. Throws {@link ArgumentError} if the certificate is invalid, or if
   * the server was started without TLS or passed as `server`.
   */
  setTls(tls: TlsMaterial): void {
    checkTls(tls)
    if (this.#own === undefined || this.#options.tls === undefined)
      throw new ArgumentError('The server was started without TLS')
    this.#own.setTls(tls)
  }

  /** Ends all sessions, closes all connections and frees the port. Unacknowledged messages are lost. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #warnIfAnonymous(): void {
    const { authenticate, warn } = this.#options
    if (authenticate === 'anonymous') this.#stopWarning = warnIfExposed(this.#http, warn)
  }

  async #close(): Promise<void> {
    this.#unmount()
    this.#stopWarning()
    this.#own?.stopListening()
    this.#upgrades.stop()
    for (const hub of this.#hubs.all) hub.close()
    await this.#upgrades.end()
    await this.#own?.close()
    this.#loginGuard.audit.close()
    this.#faults$.complete()
  }
}

/**
 * Runs hubs for clients of the reliable Web PubSub subprotocols, JSON and protobuf. Sessions are kept in memory. Throws
 * {@link ArgumentError} for invalid options, and rejects with the system's error if the port is in use.
 *
 * @example
 * ```ts
 * await using server = await servePubSub({
 *   port: 0,
 *   authenticate: { key: 'a secret of at least 32 bytes' },
 * })
 * const { url } = await server
 *   .hub('chat')
 *   .token({ userId: 'ann', roles: ['webpubsub.joinLeaveGroup'] })
 * ```
 */
export async function servePubSub(options: ServePubSubOptions): Promise<PubSubServer> {
  return PubSubServer.start(options)
}

/** Returns the allowed origins, which include the origin of `publicUrl`. */
const allowedOriginsOf = ({ host, publicUrl, allowedOrigins }: CheckedServeOptions): Origins =>
  new Origins(host, publicUrl === undefined ? allowedOrigins : [...allowedOrigins, publicUrl.replace(/^ws/, 'http')])

/** The statistics of a running server. See {@link PubSubServer.stats}. */
export interface HubStats {
  /** The number of sessions at all hubs, including those of disconnected clients. */
  readonly sessions: number
  /** The number of open WebSockets. */
  readonly connections: number
  /** The number of handshakes that await authentication. */
  readonly handshakes: number
  /**
   * The number of network connections, including those without a WebSocket. 0 with a given `server`, which has its own
   * count.
   */
  readonly networkConnections: number
  /** The bytes kept for all clients. See {@link ServePubSubOptions.maxWaitingBytes}. */
  readonly waitingBytes: number
  /** The number of times that a sender was throttled because it exceeded its rate limit. */
  readonly pauses: number
  /** The number of handshakes refused with an HTTP status. */
  readonly refusedHandshakes: number
  /** The number of network connections refused because a limit was reached. 0 with a given `server`. */
  readonly refusedConnections: number
}

/**
 * The limits on connections in a handshake, recovering or closing that are allowed in addition to the session limit.
 */
const [MIN_SPARE, MAX_SPARE] = [100, 2 * MAX_PENDING_HANDSHAKES]
/** The margin for evicted connections that are not closed yet. */
const CLOSING_MARGIN = 100

const spareConnections = (maxConnections: number): number =>
  Math.min(Math.max(2 * maxConnections, MIN_SPARE), MAX_SPARE)
