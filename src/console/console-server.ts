import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type Clock, systemClock } from '../base/clock.js'
import { randomBytes } from '../base/random.js'
import type { DumpLine } from '../dump/dump-line.js'
import type { Method, RunningStore } from '../standalone.js'
import { checkTls, type TlsMaterial, tlsOptions } from '../tls/tls.js'
import { Access } from './access.js'
import { Api } from './api.js'
import { reachableBy, securityHeaders } from './headers.js'
import { Page } from './page.js'
import { refuse } from './refusal.js'
import { Strangers } from './strangers.js'

/** Options of {@link ConsoleServer.start}. Times in ms. */
export interface ConsoleOptions {
  readonly host: string
  /** TCP port, 0 for any free one. */
  readonly port: number
  /** What a reset makes of the store; without it there is none. */
  readonly seed: readonly DumpLine[] | undefined
  /** Version of this package. */
  readonly version: string
  /** Clock of the stream. Default the machine's. */
  readonly clock?: Clock
  /** Where the built page is. */
  readonly page?: URL
  /** How long a connection may stand still during a request. Default a minute. */
  readonly idleTimeout?: number
  /** Listens with TLS. Its `clientCa` does not count: the token does. */
  readonly tls?: TlsMaterial | undefined
}

/** The same from the sources and from what is built of them. */
const PAGE = new URL('../../dist/console/page/', import.meta.url)
const TOKEN_BYTES = 32
const MOST_CONNECTIONS = 256
/** Of those, so many may be without the token, so that there is always room for those who have it. */
const MOST_STRANGERS = 128
const HEAD_TIMEOUT = 10_000
const IDLE_TIMEOUT = 60_000

/** Serves the page of the console and its API. It outlives the store's restarts. */
export class ConsoleServer implements AsyncDisposable {
  /** It lets its bearer do everything. */
  readonly token: string = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
  readonly #options: ConsoleOptions
  readonly #store: RunningStore
  readonly #access: Access
  readonly #page: Page
  readonly #api: Api
  readonly #http: Server | HttpsServer
  readonly #strangers = new Strangers(MOST_STRANGERS)
  #closed: Promise<void> | undefined

  private constructor(store: RunningStore, options: ConsoleOptions) {
    const { clock = systemClock, page = PAGE, idleTimeout = IDLE_TIMEOUT } = options
    this.#options = options
    this.#store = store
    this.#access = new Access(this.token, options.host)
    this.#page = new Page(page)
    this.#api = new Api({ store, seed: options.seed, version: options.version, clock })
    // A load takes its time; what stands still is ended by the other timeout.
    const settings = { headersTimeout: HEAD_TIMEOUT, requestTimeout: 0 }
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      this.#answer(request, response).catch(error => refuse(request, response, error))
    }
    const { tls } = options
    this.#http = tls ? createHttpsServer({ ...settings, ...tlsOf(tls) }, answer) : createServer(settings, answer)
    this.#http.timeout = idleTimeout
    this.#http.maxConnections = MOST_CONNECTIONS
    this.#http.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => this.#strangers.meet(socket))
  }

  /** Starts; rejects with the system's error when the port is taken. */
  static async start(store: RunningStore, options: ConsoleOptions): Promise<ConsoleServer> {
    const server = new ConsoleServer(store, options)
    server.#http.listen(options.port, options.host)
    await once(server.#http, 'listening')
    return server
  }

  /** `http://host:port/`, or `https://` with TLS, with an address one can open. */
  get url(): string {
    const { host } = this.#options
    const address: AddressInfo | string | null = this.#http.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    const open = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
    const scheme = this.#options.tls === undefined ? 'http' : 'https'
    return `${scheme}://${open.includes(':') ? `[${open}]` : open}:${port}/`
  }

  /** {@link url} with the token, for those who are to get in. A browser does not send it along. */
  get link(): string {
    return `${this.url}#token=${this.token}`
  }

  /** Shows another certificate to browsers that connect from now on. Throws {@link ArgumentError} unless it is one. */
  setTls(tls: TlsMaterial): void {
    checkTls(tls)
    if (this.#http instanceof HttpsServer) this.#http.setSecureContext(tlsOf(tls))
  }

  /** The way by which the page comes in at a store that asks who one is: as the user `console`, with the token. */
  readonly login: Method = ({ username, password, method }) => {
    if (username !== 'console' || password === undefined || method !== undefined) return undefined
    return this.#access.knows(Buffer.from(password).toString()) ? { principal: { id: 'console', username } } : undefined
  }

  /** Ends all connections and frees the port. */
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
    this.#http.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hostName = this.#access.checkHost(request.headers)
    const headers = securityHeaders(reachableBy(this.#store.wsUrl, hostName))
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const [path = ''] = (request.url ?? '').split('?')
    if (!path.startsWith('/api/')) {
      await this.#page.answer(request, response, path)
      return
    }
    this.#access.checkCaller(request.headers)
    this.#strangers.know(request.socket)
    await this.#api.answer({ request, response, path, hostName })
  }
}

/** Browsers would ask people for a certificate. */
const tlsOf = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
