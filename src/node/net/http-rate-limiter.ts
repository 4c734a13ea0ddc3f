import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine, networkOf } from '../limits/network.js'
import { KeyedRateLimiter } from '../limits/rate.js'
import { LoginThrottle } from '../limits/throttle.js'
import { type AccessReport, Audit } from './audit.js'
import { clientAddress } from './connection-limiter.js'
import { HttpProblem } from './http-problem.js'

/** The limit on requests without the token per address. */
const MAX_REQUESTS_PER_SECOND = 100

/** Limits requests without the token of an HTTP server per address, and writes the audit log. */
export class HttpRateLimiter {
  readonly audit: Audit
  readonly #clock: Clock
  readonly #listener: 'console' | 'metrics'
  readonly #trustProxy: boolean
  readonly #throttle: LoginThrottle
  readonly #keyedRateLimiter: KeyedRateLimiter
  readonly #audited = new WeakSet<object>()

  /** @param trustProxy - whether to trust `X-Forwarded-For` from this machine */
  constructor(clock: Clock, listener: 'console' | 'metrics', trustProxy: boolean) {
    this.audit = new Audit(clock)
    this.#clock = clock
    this.#listener = listener
    this.#trustProxy = trustProxy
    this.#throttle = new LoginThrottle(clock)
    this.#keyedRateLimiter = new KeyedRateLimiter(MAX_REQUESTS_PER_SECOND)
  }

  /** Counts a request without the token. Throws {@link HttpProblem} if a remote address sends too many of them. */
  limitUnauthenticated(request: IncomingMessage): void {
    const address = this.#addressOf(request)
    if (isThisMachine(address)) return
    const now = this.#clock.monotonic()
    const rate = this.#keyedRateLimiter.of(networkOf(address), now)
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

  /** Records a request that was refused because a page of another origin or host name sent it. */
  recordProblem(request: IncomingMessage, problem: unknown): void {
    if (!(problem instanceof HttpProblem) || !['host', 'origin'].includes(problem.code)) return
    const { origin = 'unknown origin', host } = request.headers
    const reason = `page of ${origin} at ${host}`
    this.audit.reportCut({ limit: 'origin', address: this.#addressOf(request), reason, listener: this.#listener })
  }

  /** Records an operation, which is performed unless there is a reason against it. */
  recordOperation(request: IncomingMessage, target: string, refusal?: string): void {
    const event = refusal === undefined ? 'order' : 'refused'
    this.#record(request, { event, target, username: this.#listener, reason: refusal })
  }

  #record(request: IncomingMessage, event: AccessReport): void {
    this.audit.report({ ...event, address: this.#addressOf(request), listener: this.#listener })
  }

  #addressOf({ socket, headers }: IncomingMessage): string {
    return clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#trustProxy)
  }
}

const rateProblem = (message: string, wait: number): HttpProblem => {
  const seconds = Math.ceil(wait / 1_000)
  return new HttpProblem(429, 'rate', `${message}; wait ${seconds} s`, { 'retry-after': String(seconds) })
}
