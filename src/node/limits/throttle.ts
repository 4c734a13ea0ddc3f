import type { Clock } from '../../core/util/clock.js'
import { networkOf } from './network.js'

/** Failures of one address that cost nothing, as people mistype. */
const FREE = 5
/** What the next failure costs, doubled with each one, and the most it comes to, ms. */
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000
/** A failure is forgotten after so long, ms. */
const MEMORY = 600_000
/** Addresses that are kept in mind; then those are forgotten that failed least lately. As many names that came in. */
const MOST_ADDRESSES = 10_000
const MOST_NAMES = 10_000
/** Longer names are not kept in mind, UTF-16 units. */
const LONGEST_NAME = 256

interface Failures {
  readonly count: number
  /** ms of the monotonic clock */
  readonly last: number
}

const NONE: Failures = { count: 0, last: Number.NEGATIVE_INFINITY }

/**
 * Keeps guessing from paying: an address from which logins fail has to wait before the next is looked at, longer and
 * longer, up to a minute. Addresses of IPv6 count by their network of 64 bits, which one client has for itself. A name that
 * has come in from an address waits there for failures under that name alone: behind a proxy all have the same address.
 *
 * @example
 * ```ts
 * if (throttle.pause('192.0.2.1', 'panel') > 0) refuse()
 * ```
 */
export class LoginThrottle {
  readonly #clock: Clock
  readonly #failures = new Map<string, Failures>()
  /** Of those who came in, by address and name. */
  readonly #known = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Addresses, or networks, from which something failed in the last ten minutes, and how often, with less than ten minutes
   * between two. What succeeds meanwhile takes nothing off: whoever has an account could guess on.
   */
  *failures(): Iterable<[network: string, count: number]> {
    const now = this.#clock.monotonic()
    for (const [network, { count, last }] of this.#failures) if (now - last < MEMORY) yield [network, count]
  }

  /** How long an address has to wait still, ms; with a name, whoever wants to come in from there under that name. */
  pause(address: string, name?: string): number {
    const network = networkOf(address)
    const { count, last } = this.#known.get(placeOf(network, name)) ?? this.#failures.get(network) ?? NONE
    if (count < FREE) return 0
    const pause = Math.min(FIRST_PAUSE * 2 ** (count - FREE), LONGEST_PAUSE)
    return Math.max(last + pause - this.#clock.monotonic(), 0)
  }

  /** A login from the address failed. */
  failed(address: string, name?: string): void {
    const network = networkOf(address)
    keep(this.#failures, network, this.#another(this.#failures.get(network)), MOST_ADDRESSES)
    const place = placeOf(network, name)
    const known = this.#known.get(place)
    if (known !== undefined) this.#known.set(place, this.#another(known))
  }

  /** Somebody came in from the address. */
  succeeded(address: string, name: string): void {
    if (name.length > LONGEST_NAME) return
    const place = placeOf(networkOf(address), name)
    keep(this.#known, place, this.#known.get(place) ?? NONE, MOST_NAMES)
  }

  #another({ count, last } = NONE): Failures {
    const now = this.#clock.monotonic()
    return { count: now - last < MEMORY ? count + 1 : 1, last: now }
  }
}

/** Names are as long as strangers like: those that have never come in need no place. */
const placeOf = (network: string, name: string | undefined): string => (name === undefined ? '' : `${network} ${name}`)

/** Puts it last, and forgets the first when there are too many. */
function keep(failures: Map<string, Failures>, key: string, value: Failures, most: number): void {
  failures.delete(key)
  failures.set(key, value)
  const [oldest] = failures.keys()
  if (oldest !== undefined && failures.size > most) failures.delete(oldest)
}
