import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isAddress, nameOf } from '../../core/util/host-name.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { type AccessReport, Audit } from '../../node/net/audit.js'
import { clientAddress } from '../../node/net/connection-limiter.js'
import { HttpProblem } from './http.js'

/**
 * Authorizes requests by the token. In addition, the origin and host checks reject every request of another page, or to
 * a foreign name that resolves to this machine.
 */
export class RequestAuthorizer {
  readonly #token: Buffer
  readonly #hosts: ReadonlySet<string>
  /** The permitted origins in addition to the origin of the requested host. */
  readonly #origins: readonly string[]

  /**
   * @param host - name or address on which the server listens
   * @param publicUrl - URL of the console behind a proxy
   */
  constructor(token: string, host: string, publicUrl?: URL) {
    this.#token = digest(token)
    this.#hosts = new Set(['localhost', host.toLowerCase(), ...(publicUrl ? [nameOf(publicUrl.host) ?? ''] : [])])
    this.#origins = publicUrl === undefined ? [] : [publicUrl.origin]
  }

  /**
   * Returns the host name of a request. Rejects foreign names, because a page at such a name would share the console's
   * origin (DNS rebinding). Any IP address is accepted.
   */
  checkHost({ host = '' }: IncomingHttpHeaders): string {
    const name = nameOf(host)
    if (name !== undefined && this.#isAllowedHost(name)) return name
    throw new HttpProblem(
      403,
      'host',
      'Unknown host name: use an IP address, localhost, or the host name of the console',
    )
  }

  checkOrigin({ host = '', origin, 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): void {
    const permittedOrigins = [`http://${host}`, `https://${host}`, ...this.#origins].map(address =>
      address.toLowerCase(),
    )
    if (
      (origin !== undefined && !permittedOrigins.includes(origin.toLowerCase())) ||
      !['none', 'same-origin'].includes(String(site))
    ) {
      throw new HttpProblem(403, 'origin', 'Requests from other origins are not permitted')
    }
  }

  hasToken({ authorization = '' }: IncomingHttpHeaders): boolean {
    return this.isToken(tokenOf(authorization))
  }

  get tokenProblem(): HttpProblem {
    return new HttpProblem(401, 'token', 'The token is missing or wrong; it is printed when the console starts', {
      'www-authenticate': 'Bearer',
    })
  }

  /** Returns whether a text is the token. Compares digests in constant time, because they have equal lengths. */
  isToken(token: string): boolean {
    return timingSafeEqual(digest(token), this.#token)
  }

  #isAllowedHost(name: string): boolean {
    return this.#hosts.has(name) || isAddress(name)
  }
}

const tokenOf = (authorization: string): string => /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The limit on requests without the token per address. */
const MAX_REQUESTS_PER_SECOND = 100

/** Limits requests without the token per address, and writes the audit log. */
export class ConsoleRateLimiter {
  readonly audit: Audit
  readonly #clock: Clock
  readonly #trustProxy: boolean
  readonly #throttle: LoginThrottle
  readonly #keyedRateLimiter: KeyedRateLimiter
  readonly #audited = new WeakSet<object>()

  /** @param trustProxy - whether to trust `X-Forwarded-For` from this machine */
  constructor(clock: Clock, trustProxy: boolean) {
    this.audit = new Audit(clock)
    this.#clock = clock
    this.#trustProxy = trustProxy
    this.#throttle = new LoginThrottle(clock)
    this.#keyedRateLimiter = new KeyedRateLimiter(MAX_REQUESTS_PER_SECOND, () => clock.monotonic())
  }

  /** Counts a request without the token. Throws {@link HttpProblem} if a remote address sends too many of them. */
  limitUnauthenticated(request: IncomingMessage): void {
    const address = this.#addressOf(request)
    if (isThisMachine(address)) return
    const rate = this.#keyedRateLimiter.of(networkOf(address))
    const now = this.#clock.monotonic()
    const wait = rate.wait(now)
    if (wait > 0) throw rateProblem('Too many requests', wait)
    rate.charge(1, now)
  }

  /** Records a login once per connection. Logins are not throttled, because the token cannot be guessed. */
  recordLogin(request: IncomingMessage): void {
    if (this.#audited.has(request.socket)) return
    this.#audited.add(request.socket)
    this.#record(request, { event: 'login', outcome: 'accepted' })
  }

  /** Records a missing or wrong token. Throws {@link HttpProblem} for too many attempts from an address. */
  recordFailedLogin(request: IncomingMessage): void {
    this.limitUnauthenticated(request)
    const address = this.#addressOf(request)
    this.#record(request, { event: 'login', outcome: 'refused', reason: 'the token is missing or wrong' })
    if (isThisMachine(address)) return
    const pause = this.#throttle.pause(address)
    if (pause > 0) throw rateProblem('Too many wrong tokens', pause)
    this.#throttle.recordFailure(address)
  }

  recordAction(request: IncomingMessage, path: string): void {
    this.#record(request, { event: 'order', target: path })
  }

  recordDisconnect(address: string | undefined, reason: string): void {
    this.audit.reportCut({ limit: 'unauthenticated-connections', address, reason, listener: 'console' })
  }

  #record(request: IncomingMessage, event: AccessReport): void {
    this.audit.report({ ...event, address: this.#addressOf(request), listener: 'console' })
  }

  #addressOf({ socket, headers }: IncomingMessage): string {
    return clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }
}

const rateProblem = (message: string, wait: number): HttpProblem => {
  const seconds = Math.ceil(wait / 1_000)
  return new HttpProblem(429, 'rate', `${message}; wait ${seconds} s`, { 'retry-after': String(seconds) })
}
