import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isAddress, nameOf } from '../../core/util/host-name.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { Audit, type AuditEvent } from '../../node/net/audit.js'
import { callerOf } from '../../node/net/connection-limiter.js'
import { HttpProblem } from './http.js'

/**
 * Who may ask. The token is what counts; the rest keeps pages of other origins, and names that somebody else made point
 * here, from coming as far as that.
 */
export class RequestAuthorizer {
  readonly #token: Buffer
  readonly #hosts: ReadonlySet<string>
  /** Besides those of the host that is asked for. */
  readonly #origins: readonly string[]

  /**
   * @param host - name or address the server was told to listen on
   * @param publicUrl - by which a proxy makes it known
   */
  constructor(token: string, host: string, publicUrl?: URL) {
    this.#token = digest(token)
    this.#hosts = new Set(['localhost', host.toLowerCase(), ...(publicUrl ? [nameOf(publicUrl.host) ?? ''] : [])])
    this.#origins = publicUrl === undefined ? [] : [publicUrl.origin]
  }

  /**
   * The host a request names, without the port. A name that is not ours is refused: with it, a page from there would be
   * of one origin with us (DNS rebinding). An address is what it is.
   */
  checkHost({ host = '' }: IncomingHttpHeaders): string {
    const name = nameOf(host)
    if (name !== undefined && this.#isOurs(name)) return name
    throw new HttpProblem(403, 'host', 'Ask by address, as localhost, or by the name the console was told to listen on')
  }

  /** Refuses what another origin sends. */
  checkOrigin({ host = '', origin, 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): void {
    const own = [`http://${host}`, `https://${host}`, ...this.#origins].map(address => address.toLowerCase())
    if (
      (origin !== undefined && !own.includes(origin.toLowerCase())) ||
      !['none', 'same-origin'].includes(String(site))
    ) {
      throw new HttpProblem(403, 'origin', 'Pages of other origins may not ask')
    }
  }

  /** Whether a request comes with the token. */
  hasToken({ authorization = '' }: IncomingHttpHeaders): boolean {
    return this.knows(tokenOf(authorization))
  }

  /** What is said to one that does not. */
  get refusal(): HttpProblem {
    return new HttpProblem(401, 'token', 'The token is missing or wrong; it is printed when the console starts', {
      'www-authenticate': 'Bearer',
    })
  }

  /** Whether it is the token. */
  knows(token: string): boolean {
    // Digests have one length, and comparing them takes one time.
    return timingSafeEqual(digest(token), this.#token)
  }

  #isOurs(name: string): boolean {
    return this.#hosts.has(name) || isAddress(name)
  }
}

const tokenOf = (authorization: string): string => /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Requests a second from one address, of those who have not shown the token. */
const MOST_REQUESTS = 100

/** Slows down those who ask too often or try tokens, and keeps on record who came in and what it ordered. */
export class ConsoleRateLimiter {
  readonly audit: Audit
  readonly #clock: Clock
  readonly #trustProxy: boolean
  readonly #throttle: LoginThrottle
  readonly #keyedRateLimiter: KeyedRateLimiter
  /** Connections whose login is on record. */
  readonly #known = new WeakSet<object>()

  /** @param trustProxy - whether a proxy on this machine may stand before us */
  constructor(clock: Clock, trustProxy: boolean) {
    this.audit = new Audit(clock)
    this.#clock = clock
    this.#trustProxy = trustProxy
    this.#throttle = new LoginThrottle(clock)
    this.#keyedRateLimiter = new KeyedRateLimiter(MOST_REQUESTS, () => clock.monotonic())
  }

  /** Somebody asks who need not show the token. Raises {@link HttpProblem} for one of another machine that asks too often. */
  stranger(request: IncomingMessage): void {
    const address = this.#addressOf(request)
    if (isThisMachine(address)) return
    const rate = this.#keyedRateLimiter.of(networkOf(address))
    const now = this.#clock.monotonic()
    const wait = rate.wait(now)
    if (wait > 0) throw tooOften('Too many requests', wait)
    rate.charge(1, now)
  }

  /** The token was right; it is never kept waiting, as it cannot be guessed. */
  accepted(request: IncomingMessage): void {
    if (this.#known.has(request.socket)) return
    this.#known.add(request.socket)
    this.#tell(request, { event: 'login', outcome: 'accepted' })
  }

  /** The token was wrong, or missing. Raises {@link HttpProblem} when that was so too often from its address. */
  refused(request: IncomingMessage): void {
    this.stranger(request)
    const address = this.#addressOf(request)
    this.#tell(request, { event: 'login', outcome: 'refused', reason: 'the token is missing or wrong' })
    if (isThisMachine(address)) return
    const pause = this.#throttle.pause(address)
    if (pause > 0) throw tooOften('Too many wrong tokens', pause)
    this.#throttle.failed(address)
  }

  /** Somebody with the token has the store do something. @param path - what */
  order(request: IncomingMessage, path: string): void {
    this.#tell(request, { event: 'order', target: path })
  }

  /** A connection was ended for a limit. @param reason - which */
  cut(address: string | undefined, reason: string): void {
    this.audit.cut({ address, reason, listener: 'console' })
  }

  #tell(request: IncomingMessage, event: Omit<AuditEvent, 'time'>): void {
    this.audit.tell({ ...event, address: this.#addressOf(request), listener: 'console' })
  }

  #addressOf({ socket, headers }: IncomingMessage): string {
    return callerOf(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }
}

const tooOften = (words: string, wait: number): HttpProblem => {
  const seconds = Math.ceil(wait / 1_000)
  return new HttpProblem(429, 'rate', `${words}; wait ${seconds} s`, { 'retry-after': String(seconds) })
}
