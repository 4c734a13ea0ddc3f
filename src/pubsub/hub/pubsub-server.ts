import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../clock.js'
import { ArgumentError } from '../../errors.js'
import { jsonHubCodec } from '../wire/json-hub-codec.js'
import { protobufHubCodec } from '../wire/protobuf-hub-codec.js'
import { type Authenticator, authenticatorOf } from './authenticate.js'
import { Dialect } from './dialect.js'
import { type Handshake, type Refusal, readHandshake } from './handshake.js'
import { Handshakes, MOST_HANDSHAKES } from './handshakes.js'
import { Hub } from './hub.js'
import type { HubDriver } from './hub-driver.js'
import { Hubs } from './hubs.js'
import { CLOSE } from './link.js'
import { checkHub, hubKey } from './names.js'
import { type CheckedOptions, checkOptions, type ServePubSubOptions } from './options.js'
import { refuse } from './refuse.js'
import type { Session } from './session.js'
import { SocketLink } from './socket-link.js'
import { type Agreement, agree } from './subprotocols.js'
import { AccessTokens } from './tokens.js'
import { Turns } from './turns.js'

/** Largest frame of a client, bytes. (Service limits.) */
const LARGEST_FRAME = 1024 * 1024
/** How long the head of a request may take, and how often it is looked after, ms. */
const HEAD_TIMEOUT = 10_000
const HEAD_CHECKS = 1_000
/** Connections beyond the sessions there may be: those in a handshake, and as many that come back. */
const SPARE_CONNECTIONS = 2 * MOST_HANDSHAKES
/** How long a client may take to answer a close frame, ms. */
const CLOSE_TIMEOUT = 2_000

const BUSY: Refusal = { status: 503, text: 'There are too many connections; try again later' }

/** What a client wants, in a subprotocol there is. */
interface Asked {
  readonly handshake: Handshake
  readonly agreement: Agreement
}
/** Begins or goes on with a session, once the socket is there. */
type Attach = (link: SocketLink) => void
interface Admission {
  /** Subprotocol in the answer. */
  readonly name: string
  /** Whether it is one more session. */
  readonly fresh: boolean
  readonly attach: Attach
}

/** A running server; see {@link servePubSub}. */
export class PubSubServer implements AsyncDisposable {
  readonly #options: CheckedOptions
  readonly #hubs: Hubs
  readonly #tokens: AccessTokens | undefined
  readonly #authenticate: Authenticator
  readonly #dialects = [jsonHubCodec, protobufHubCodec].map(codec => new Dialect(codec))
  readonly #turns = new Turns()
  readonly #http: Server
  readonly #webSockets: WebSocketServer
  readonly #handshakes: Handshakes
  #closed: Promise<void> | undefined

  private constructor(options: CheckedOptions) {
    const { authenticate, path, clock, hubs } = options
    this.#options = options
    this.#hubs = new Hubs(options, hubs)
    const tokens = typeof authenticate === 'object' ? new AccessTokens(authenticate.key) : authenticate
    this.#tokens = tokens instanceof AccessTokens ? tokens : undefined
    this.#authenticate = authenticatorOf(tokens, path, clock)
    const settings = { noServer: true, maxPayload: LARGEST_FRAME, closeTimeout: CLOSE_TIMEOUT }
    this.#webSockets = new WebSocketServer(settings)
    this.#handshakes = new Handshakes(clock)
    this.#http = createServer({
      headersTimeout: HEAD_TIMEOUT,
      requestTimeout: HEAD_TIMEOUT,
      connectionsCheckingInterval: HEAD_CHECKS,
    })
    this.#http.maxConnections = options.maxConnections + SPARE_CONNECTIONS
    this.#http.on('request', (_request, response) => {
      response.writeHead(400, { connection: 'close' }).end('This is a Web PubSub hub: use WebSocket\n')
    })
    this.#http.on('upgrade', (request, stream, head) => this.#upgrade(request, stream, head))
  }

  /** Throws {@link ArgumentError} for wrong options, rejects with the system's error when the port is taken. */
  static async start(options: ServePubSubOptions): Promise<PubSubServer> {
    const server = new PubSubServer(checkOptions(options))
    const { port, host } = server.#options
    server.#http.listen(port, host)
    await once(server.#http, 'listening')
    return server
  }

  /** The TCP port it listens on. */
  get port(): number {
    const address: AddressInfo | string | null = this.#http.address()
    return address !== null && typeof address === 'object' ? address.port : 0
  }

  /** `ws://host:port` */
  get url(): string {
    const { host } = this.#options
    return `ws://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  /** A hub, in whatever case its name is written. Throws {@link ArgumentError} for one that there cannot be. */
  hub(name: string): Hub {
    checkHub(name)
    const { path, clock } = this.#options
    const place = `${path}/hubs/${hubKey(name)}`
    const url = this.url
    return new Hub(hubKey(name), url + place, this.#hubs.keep(name), async options => {
      if (this.#tokens === undefined)
        throw new ArgumentError('Access tokens need a server with `authenticate: { key }`')
      return this.#tokens.sign(url.replace(/^ws/, 'http') + place, options, clock.now())
    })
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
    const closed = once(this.#http, 'close')
    this.#http.close()
    this.#handshakes.close()
    for (const hub of this.#hubs.all) hub.close()
    const open = Array.from(this.#webSockets.clients, async socket => once(socket, 'close'))
    await within(CLOSE_TIMEOUT, this.#options.clock, Promise.all(open))
    for (const socket of this.#webSockets.clients) socket.terminate()
    this.#http.closeAllConnections()
    await closed
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // It is the loss of its client only.
    stream.on('error', () => undefined)
    const settle = (admission: Admission | Refusal): void => {
      if ('status' in admission) refuse(stream, admission)
      else this.#accept(request, stream, head, admission)
    }
    const asked = this.#read(request)
    if ('status' in asked) settle(asked)
    // Who comes back is known already, and does not wait behind strangers.
    else if (asked.handshake.claim !== undefined) settle(this.#recovery(asked))
    else if (this.#closed !== undefined || this.#handshakes.full) settle(BUSY)
    else void this.#handshakes.wait(stream, this.#admit(asked, request)).then((admission = BUSY) => settle(admission))
  }

  #read(request: IncomingMessage): Asked | Refusal {
    const handshake = readHandshake(request.url ?? '', request.headers, this.#options.path)
    if ('status' in handshake) return handshake
    const agreement = agree(handshake.subprotocols, this.#dialects)
    if (agreement !== undefined) return { handshake, agreement }
    const known = this.#dialects.map(({ name }) => name).join(' or ')
    return { status: 400, text: `Offer the subprotocol ${known}` }
  }

  async #admit({ handshake, agreement }: Asked, { headers }: IncomingMessage): Promise<Admission | Refusal> {
    if (!this.#hubs.allows(handshake.hub)) return { status: 404, text: `There is no hub ${handshake.hub}` }
    const identity = await this.#authenticate(handshake, headers)
    if ('status' in identity) return identity
    return {
      name: agreement.name,
      fresh: true,
      attach: link => {
        const hub = this.#hubs.open(handshake.hub)
        bind(hub, hub.connect(link, agreement.dialect, identity), link)
      },
    }
  }

  /** A client that wants what is not there is let in all the same: only a close code tells it that this is final. */
  #recovery({ handshake: { hub, claim, subprotocols }, agreement: fallback }: Asked): Admission {
    const driver = this.#hubs.find(hub)
    const wanted = claim && driver?.engine.find(claim)
    const agreement = wanted && agree(subprotocols, [wanted.dialect])
    return {
      name: (agreement ?? fallback).name,
      fresh: false,
      attach: link => {
        const session = agreement && claim && driver?.recover(claim, link)
        if (driver && session) bind(driver, session, link)
        else link.close(CLOSE.policy, 'there is no such session')
      },
    }
  }

  #accept(request: IncomingMessage, stream: Duplex, head: Buffer, { name, fresh, attach }: Admission): void {
    const full = fresh && this.#hubs.sessions >= this.#options.maxConnections
    if (full || this.#closed !== undefined) {
      refuse(stream, BUSY)
      return
    }
    // ws answers with the first subprotocol of the request.
    request.headers['sec-websocket-protocol'] = name
    this.#webSockets.handleUpgrade(request, stream, head, (socket: WebSocket) => {
      attach(new SocketLink(socket, stream, this.#turns))
    })
  }
}

/**
 * Runs hubs for clients of the reliable Web PubSub subprotocols, JSON and protobuf. Sessions live in memory. Throws
 * {@link ArgumentError} for a wrong option, rejects with the system's error when the port is taken.
 *
 * @example
 * ```ts
 * await using server = await servePubSub({ port: 0, authenticate: { key: 'at least 32 bytes that nobody knows' } })
 * const { url } = await server.hub('chat').token({ userId: 'ann', roles: ['webpubsub.joinLeaveGroup'] })
 * ```
 */
export async function servePubSub(options: ServePubSubOptions): Promise<PubSubServer> {
  return PubSubServer.start(options)
}

function bind(hub: HubDriver, session: Session, link: SocketLink): void {
  link.listen({
    receive: frame => hub.receive(session, link, frame),
    alive: () => hub.alive(session, link),
    drained: () => hub.engine.drained(session, link),
    violated: () => hub.engine.violated(session, link),
    gone: code => hub.dropped(session, link, code),
  })
}

/** What a promise settles with, or `undefined` when that takes longer. */
async function within<T>(timeout: number, clock: Clock, promise: Promise<T>): Promise<T | undefined> {
  let cancel = (): void => undefined
  const late = new Promise<undefined>(resolve => {
    cancel = clock.schedule(timeout, () => resolve(undefined))
  })
  return Promise.race([promise, late]).finally(cancel)
}
