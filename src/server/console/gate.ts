import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { Rates } from '../../node/limits/rate.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { Audit, type AuditEvent } from '../../node/net/audit.js'
import { callerOf } from '../../node/net/visitors.js'
import { Refusal } from './refusal.js'

/** Requests a second from one address, of those who have not shown the token. */
const MOST_REQUESTS = 100

/** Slows down those who ask too often or try tokens, and keeps on record who came in and what it ordered. */
export class Gate {
  readonly audit: Audit
  readonly #clock: Clock
  readonly #proxied: boolean
  readonly #throttle: LoginThrottle
  readonly #rates: Rates
  /** Connections whose login is on record. */
  readonly #known = new WeakSet<object>()

  /** @param proxied - whether a proxy on this machine may stand before us */
  constructor(clock: Clock, proxied: boolean) {
    this.audit = new Audit(clock)
    this.#clock = clock
    this.#proxied = proxied
    this.#throttle = new LoginThrottle(clock)
    this.#rates = new Rates(MOST_REQUESTS, () => clock.monotonic())
  }

  /** Somebody asks who need not show the token. Raises {@link Refusal} for one of another machine that asks too often. */
  stranger(request: IncomingMessage): void {
    const address = this.#addressOf(request)
    if (isThisMachine(address)) return
    const rate = this.#rates.of(networkOf(address))
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

  /** The token was wrong, or missing. Raises {@link Refusal} when that was so too often from its address. */
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
    return callerOf(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#proxied)
  }
}

const tooOften = (words: string, wait: number): Refusal => {
  const seconds = Math.ceil(wait / 1_000)
  return new Refusal(429, 'rate', `${words}; wait ${seconds} s`, { 'retry-after': String(seconds) })
}
