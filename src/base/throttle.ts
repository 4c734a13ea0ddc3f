import type { Clock } from './clock.js'
import { networkOf } from './network.js'

/** Failures of one address that cost nothing, as people mistype. */
const FREE = 5
/** What the next failure costs, doubled with each one, and the most it comes to, ms. */
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000
/** A failure is forgotten after so long, ms. */
const MEMORY = 600_000
/** Addresses that are kept in mind; then those are forgotten that failed least lately. */
const MOST_ADDRESSES = 10_000

interface Failures {
  count: number
  /** ms of the monotonic clock */
  last: number
}

/**
 * Keeps guessing from paying: an address from which logins fail has to wait before the next is looked at, longer and
 * longer, up to a minute. Addresses of IPv6 count by their network of 64 bits, which one client has for itself.
 *
 * @example
 * ```ts
 * if (throttle.pause('192.0.2.1') > 0) refuse()
 * ```
 */
export class LoginThrottle {
  readonly #clock: Clock
  readonly #failures = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Addresses, or networks, from which something failed in the last ten minutes, and how often in a row. */
  *failures(): Iterable<[network: string, count: number]> {
    const now = this.#clock.monotonic()
    for (const [network, { count, last }] of this.#failures) if (now - last < MEMORY) yield [network, count]
  }

  /** How long an address has to wait still, ms. */
  pause(address: string): number {
    const failures = this.#failures.get(networkOf(address))
    if (failures === undefined || failures.count < FREE) return 0
    const pause = Math.min(FIRST_PAUSE * 2 ** (failures.count - FREE), LONGEST_PAUSE)
    return Math.max(failures.last + pause - this.#clock.monotonic(), 0)
  }

  /** A login from the address failed. */
  failed(address: string): void {
    const network = networkOf(address)
    const now = this.#clock.monotonic()
    const before = this.#failures.get(network)
    const count = before !== undefined && now - before.last < MEMORY ? before.count + 1 : 1
    this.#failures.delete(network)
    this.#failures.set(network, { count, last: now })
    const [oldest] = this.#failures.keys()
    if (oldest !== undefined && this.#failures.size > MOST_ADDRESSES) this.#failures.delete(oldest)
  }
}
