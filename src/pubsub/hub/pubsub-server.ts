import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Observable, Subject } from 'rxjs'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { Audit, AuditEvent } from '../../node/net/audit.js'
import { type GivenServer, HEAD_TIMEOUTS, isBelow, mountOn } from '../../node/net/http.js'
import { Origins } from '../../node/net/origins.js'
import { UnauthenticatedConnections } from '../../node/net/places.js'
import { warnWhereOpen } from '../../node/net/strangers.js'
import { checkTls, TlsHandshakes, type TlsMaterial, tlsOptions } from '../../node/net/tls.js'
import { Visitors } from '../../node/net/visitors.js'
import { checkHub, hubKey } from '../wire/rules.js'
import { type Admission, Admissions, BUSY, Doorman } from './admission.js'
import { authenticatorOf, isGuessable } from './authenticate.js'
import { type HandshakeRefusal, Handshakes, MOST_HANDSHAKES, refuseHandshake } from './handshake.js'
import { Hub } from './hub.js'
import { Hubs } from './hubs.js'
import { Senders } from './senders.js'
import { type CheckedServeOptions, checkServeOptions, type ServePubSubOptions } from './serve-options.js'
import { AccessTokens } from './tokens.js'
import { ReadAheadRoom, WebSocketLink } from './websocket-link.js'
import { WriteScheduler } from './write-scheduler.js'

/** Largest frame of a client, bytes. (Service limits.) */
const LARGEST_FRAME = 1024 * 1024
/** How long a client may take to answer a close frame, ms. */
const CLOSE_TIMEOUT = 2_000

/** A running server; see {@link servePubSub}. */
export class PubSubServer implements AsyncDisposable {
  readonly #options: CheckedServeOptions
  readonly #hubs: Hubs
  readonly #tokens: AccessTokens | undefined
  readonly #admissions: Admissions
  readonly #writes = new WriteScheduler()
  readonly #room = new ReadAheadRoom()
  readonly #http: GivenServer
  readonly #leave: () => void
  readonly #warned: () => void
  readonly #doorman: Doorman
  readonly #senders: Senders
  readonly #webSockets: WebSocketServer
  readonly #handshakes: Handshakes
  readonly #tlsHandshakes = new TlsHandshakes()
  readonly #faults$ = new Subject<unknown>()
  readonly #visitors: Visitors
  readonly #withoutSession: UnauthenticatedConnections
  #refused = 0
  #closed: Promise<void> | undefined

  private constructor(options: CheckedServeOptions) {
    const { authenticate, path, clock, hubs } = options
    this.#options = options
    this.#hubs = new Hubs(options, options.maxWaitingBytes, hubs)
    const isKey = typeof authenticate === 'object' && 'key' in authenticate
    const tokens = isKey ? new AccessTokens(authenticate.key) : authenticate
    this.#tokens = tokens instanceof AccessTokens ? tokens : undefined
    const settings = { noServer: true, maxPayload: LARGEST_FRAME, closeTimeout: CLOSE_TIMEOUT, autoPong: false }
    this.#webSockets = new WebSocketServer(settings)
    this.#handshakes = new Handshakes(clock)
    this.#doorman = new Doorman(clock, options.publicUrl !== undefined, isGuessable(authenticate))
    this.#senders = new Senders(options, clock)
    const [doorman, senders] = [this.#doorman, this.#senders]
    const admission = { ...options, origins: originsOf(options) }
    const authenticator = authenticatorOf(tokens, path, clock, error => this.#faults$.next(error))
    this.#admissions = new Admissions(this.#hubs, authenticator, doorman, senders, admission)
    this.#visitors = visitorsOf(options, this.#doorman.audit)
    this.#withoutSession = withoutSession(options, this.#doorman.audit)
    this.#http = options.server ?? ownHttp(options, this.#visitors, this.#tlsHandshakes, this.#withoutSession)
    this.#warned = options.authenticate === 'anonymous' ? warnWhereOpen(this.#http, options.warn) : () => undefined
    this.#leave = mountOn(this.#http, 'upgrade', {
      isOurs: request => options.server === undefined || isBelow(path, request),
      ours: (request, stream: Duplex, head: Buffer) => this.#upgrade(request, stream, head),
      nobodys: (_, stream: Duplex) => refuseHandshake(stream, { status: 404, text: 'There is nothing here' }),
    })
  }

  /** Throws {@link ArgumentError} for wrong options, rejects with the system's error when the port is taken. */
  static async start(options: ServePubSubOptions): Promise<PubSubServer> {
    const server = new PubSubServer(checkServeOptions(options))
    const { port, host } = server.#options
    if (options.server !== undefined) return server
    server.#http.listen(port, host)
    await once(server.#http, 'listening')
    return server
  }

  /** The TCP port it listens on. */
  get port(): number {
    const address: AddressInfo | string | null = this.#http.address()
    return address !== null && typeof address === 'object' ? address.port : 0
  }

  /** How often somebody was read more slowly that sent more than it may. */
  get pauses(): number {
    return this.#senders.pauses
  }

  /** Counts of all hubs. */
  get stats(): HubStats {
    return {
      sessions: this.#hubs.sessions,
      connections: this.#webSockets.clients.size,
      handshakes: this.#handshakes.count,
      networkConnections: this.#visitors.count,
      waitingBytes: this.#hubs.waitingBytes,
      pauses: this.pauses,
      refusedHandshakes: this.#refused,
      refusedConnections: this.#visitors.refused,
    }
  }

  /** Who came in, or did not. Hot. */
  get audit$(): Observable<AuditEvent> {
    return this.#doorman.audit.events$
  }

  /** What the function `authenticate` has thrown; nobody else is told. Hot. */
  get faults$(): Observable<unknown> {
    return this.#faults$.asObservable()
  }

  /** `publicUrl`; or `ws://host:port`, or `wss://` with TLS */
  get url(): string {
    const { host, publicUrl } = this.#options
    if (publicUrl !== undefined) return publicUrl
    return `ws${this.#http instanceof HttpsServer ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  /** A hub; upper and lower case are the same. Throws {@link ArgumentError} for a name that is not allowed. */
  hub(name: string): Hub {
    checkHub(name)
    const { path, clock } = this.#options
    const place = `${path}/hubs/${hubKey(name)}`
    const url = this.url
    return new Hub(hubKey(name), url + place, this.#hubs.keep(name), async options => {
      if (this.#tokens === undefined) throw new ArgumentError('Tokens need a server with `authenticate: { key }`')
      return this.#tokens.sign(url.replace(/^ws/, 'http') + place, options, clock.now())
    })
  }

  /**
   * Shows another certificate to clients that connect from now on. Throws {@link ArgumentError} for what is none, and when the
   * server was started without TLS or was given.
   */
  setTls(tls: TlsMaterial): void {
    checkTls(tls)
    if (this.#options.server || !(this.#http instanceof HttpsServer))
      throw new ArgumentError('The server was started without TLS')
    setTls(this.#http, tls)
  }

  /** Ends all sessions, closes all connections and frees the port. What waits for clients is lost. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { server } = this.#options
    const closed = server === undefined ? once(this.#http, 'close') : undefined
    this.#leave()
    this.#warned()
    if (server === undefined) this.#http.close()
    this.#tlsHandshakes.destroy()
    this.#handshakes.close()
    for (const hub of this.#hubs.all) hub.close()
    const open = Array.from(this.#webSockets.clients, async socket => once(socket, 'close'))
    await within(CLOSE_TIMEOUT, this.#options.clock, Promise.all(open))
    for (const socket of this.#webSockets.clients) socket.terminate()
    if (server === undefined) this.#http.closeAllConnections()
    await closed
    this.#doorman.audit.close()
    this.#faults$.complete()
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Only its own client is affected.
    stream.on('error', () => undefined)
    const settle = (admission: Admission | HandshakeRefusal): void => {
      if ('status' in admission) this.#refuse(stream, admission)
      else this.#accept(request, stream, head, admission)
    }
    const asked = this.#admissions.read(request)
    const address = this.#doorman.addressOf(request)
    if ('status' in asked) settle(asked)
    // A client that comes back is known already, and does not wait behind strangers.
    else if (asked.handshake.claim !== undefined) settle(this.#admissions.recovery(asked, request))
    else if (this.#closed !== undefined || !this.#handshakes.admits(address)) settle(BUSY)
    else
      void this.#handshakes
        .wait(stream, address, this.#admissions.admit(asked, request))
        .then((admission = BUSY) => settle(admission))
  }

  #refuse(stream: Duplex, refusal: HandshakeRefusal): void {
    this.#refused++
    refuseHandshake(stream, refusal)
  }

  #accept(request: IncomingMessage, stream: Duplex, head: Buffer, { name, admits, meter, attach }: Admission): void {
    const refusal = this.#closed === undefined ? admits() : BUSY
    if (refusal !== undefined) {
      this.#refuse(stream, refusal)
      return
    }
    // ws answers with the first subprotocol of the request.
    request.headers['sec-websocket-protocol'] = name
    this.#webSockets.handleUpgrade(request, stream, head, (socket: WebSocket) => {
      const below = request.socket
      const closing = (): void => this.#withoutSession.add(below)
      const link = new WebSocketLink(socket, stream, this.#writes, this.#room, meter(), closing)
      this.#withoutSession.authenticated(below)
      attach(link)
      if (!link.isBound) closing()
    })
  }
}

/**
 * Runs hubs for clients of the reliable Web PubSub subprotocols, JSON and protobuf. Sessions live in memory. Throws
 * {@link ArgumentError} for a wrong option, rejects with the system's error when the port is taken.
 *
 * @example
 * ```ts
 * await using server = await servePubSub({ port: 0, authenticate: { key: 'a secret of at least 32 bytes' } })
 * const { url } = await server.hub('chat').token({ userId: 'ann', roles: ['webpubsub.joinLeaveGroup'] })
 * ```
 */
export async function servePubSub(options: ServePubSubOptions): Promise<PubSubServer> {
  return PubSubServer.start(options)
}

/** Pages of where clients find it may connect as well. */
const originsOf = ({ host, publicUrl, allowedOrigins }: CheckedServeOptions): Origins =>
  new Origins(host, publicUrl === undefined ? allowedOrigins : [...allowedOrigins, publicUrl.replace(/^ws/, 'http')])

/** What a promise settles with, or `undefined` when that takes longer. */
async function within<T>(timeout: number, clock: Clock, promise: Promise<T>): Promise<T | undefined> {
  let cancel = (): void => undefined
  const late = new Promise<undefined>(resolve => {
    cancel = clock.schedule(timeout, () => resolve(undefined))
  })
  return Promise.race([promise, late]).finally(cancel)
}

/** A glance at a running server; see {@link PubSubServer.stats}. */
export interface HubStats {
  /** Sessions at all hubs, with those whose client is away. */
  readonly sessions: number
  /** WebSockets of clients that were let in. */
  readonly connections: number
  /** Handshakes for which it is not decided yet who the client is. */
  readonly handshakes: number
  /** All that is connected to a server of our own, whatever it is about; 0 with a given `server`. */
  readonly networkConnections: number
  /** What waits for all clients together, bytes; see {@link ServePubSubOptions.maxWaitingBytes}. */
  readonly waitingBytes: number
  /** How often somebody was read more slowly that sent more than it may. */
  readonly pauses: number
  /** Handshakes that were refused, with an HTTP status. */
  readonly refusedHandshakes: number
  /** Network connections that were cut because there were too many; 0 with a given `server`. */
  readonly refusedConnections: number
}

/**
 * Connections beyond the sessions there may be: those in a handshake, those that come back, and those that end. With more one
 * gives way; few, where there may be few sessions.
 */
const [FEWEST_SPARE, MOST_SPARE] = [100, 2 * MOST_HANDSHAKES]
/** Of those that give way some are not closed yet. */
const CLOSING = 100

/** How a server of our own is to be. */
export interface OwnHttpOptions {
  readonly tls: TlsMaterial | undefined
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
}

/** Counts those who connect to a server of our own. */
export const visitorsOf = ({ maxConnections, maxConnectionsPerAddress }: OwnHttpOptions, audit: Audit): Visitors =>
  new Visitors({ maxConnections: maxConnections + spareOf(maxConnections) + CLOSING, maxConnectionsPerAddress }, cut =>
    audit.cut(cut),
  )

const spareOf = (maxConnections: number): number => Math.min(Math.max(2 * maxConnections, FEWEST_SPARE), MOST_SPARE)

/** Those that have no session; each is told to `audit` that gives way for another one. */
export function withoutSession({ maxConnections }: OwnHttpOptions, audit: Audit): UnauthenticatedConnections {
  const most = spareOf(maxConnections)
  return new UnauthenticatedConnections(most, ({ remoteAddress: address }) =>
    audit.cut({ reason: `there are ${most} connections without a session`, address, listener: 'hub' }),
  )
}

/** A server of our own for a hub: it knows nothing but WebSocket. */
export function ownHttp(
  { tls }: OwnHttpOptions,
  visitors: Visitors,
  handshakes: TlsHandshakes,
  unauthenticated: UnauthenticatedConnections,
): GivenServer {
  const http = tls ? createHttpsServer({ ...HEAD_TIMEOUTS, ...tlsOf(tls) }) : createServer(HEAD_TIMEOUTS)
  visitors.guard(http, 'hub')
  http.on('connection', (socket: Socket) => unauthenticated.add(socket))
  if (http instanceof HttpsServer) handshakes.watch(http)
  http.on('request', (_request, response) => {
    response.writeHead(400, { connection: 'close' }).end('This is a Web PubSub hub: use WebSocket\n')
  })
  return http
}

/** Shows another certificate to clients that connect from now on. */
export const setTls = (http: HttpsServer, tls: TlsMaterial): void => http.setSecureContext(tlsOf(tls))

const tlsOf = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
