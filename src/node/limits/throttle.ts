import type { Clock } from '../../core/util/clock.js'
import { networkOf } from './network.js'

/** Number of failures per address without a delay, because people mistype. */
const FREE_FAILURES = 5
/** Delay after the first failure beyond that number, and maximum delay, ms. Each further failure doubles the delay. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000
/** Time after which failures expire, ms. */
const FAILURE_EXPIRY_MS = 600_000
/**
 * Maximum number of tracked addresses, and of tracked names with a successful login. The least recent ones are dropped.
 */
const MAX_ADDRESSES = 10_000
const MAX_NAMES = 10_000
/** Maximum length of a tracked name, UTF-16 code units. */
const MAX_NAME_LENGTH = 256

interface Failures {
  readonly count: number
  /** Time of the last failure, ms of the monotonic clock. */
  readonly last: number
}

const NO_FAILURES: Failures = { count: 0, last: Number.NEGATIVE_INFINITY }

/**
 * Slows down password guessing: after failed logins, an address must wait for a growing delay of up to a minute. IPv6
 * addresses count by their /64 network, which belongs to one client. A name that has logged in from an address is
 * delayed only by failures of that name, because all clients behind a proxy share an address.
 *
 * @example
 * ```ts
 * if (throttle.pause('192.0.2.1', 'panel') > 0) refuse()
 * ```
 */
export class LoginThrottle {
  readonly #clock: Clock
  readonly #failures = new Map<string, Failures>()
  readonly #knownNames = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Yields the addresses, or networks, with failures in the last ten minutes, and the number of failures less than ten
   * minutes apart. Successful logins do not reset the number; otherwise the owner of one account could keep guessing
   * the passwords of others.
   */
  *failures(): Iterable<[network: string, count: number]> {
    const now = this.#clock.monotonic()
    for (const [network, { count, last }] of this.#failures) if (now - last < FAILURE_EXPIRY_MS) yield [network, count]
  }

  /**
   * Returns the time that logins from an address must wait, ms, or with a name, the time that logins with that name
   * must wait.
   */
  pause(address: string, name?: string): number {
    const network = networkOf(address)
    const { count, last } = this.#knownNames.get(keyOf(network, name)) ?? this.#failures.get(network) ?? NO_FAILURES
    if (count < FREE_FAILURES) return 0
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (count - FREE_FAILURES), MAX_PAUSE_MS)
    return Math.max(last + pause - this.#clock.monotonic(), 0)
  }

  recordFailure(address: string, name?: string): void {
    const network = networkOf(address)
    setRecent(this.#failures, network, this.#addFailure(this.#failures.get(network)), MAX_ADDRESSES)
    const key = keyOf(network, name)
    const previous = this.#knownNames.get(key)
    if (previous !== undefined) this.#knownNames.set(key, this.#addFailure(previous))
  }

  recordSuccess(address: string, name: string): void {
    if (name.length > MAX_NAME_LENGTH) return
    const key = keyOf(networkOf(address), name)
    setRecent(this.#knownNames, key, this.#knownNames.get(key) ?? NO_FAILURES, MAX_NAMES)
  }

  #addFailure({ count, last } = NO_FAILURES): Failures {
    const now = this.#clock.monotonic()
    return { count: now - last < FAILURE_EXPIRY_MS ? count + 1 : 1, last: now }
  }
}

/**
 * Returns the key of a tracked name. Only names that have logged in are tracked, because clients choose the length of
 * names.
 */
const keyOf = (network: string, name: string | undefined): string => (name === undefined ? '' : `${network} ${name}`)

/** Moves an entry to the end and drops the oldest one above the limit. */
function setRecent(failures: Map<string, Failures>, key: string, value: Failures, maxSize: number): void {
  failures.delete(key)
  failures.set(key, value)
  const [oldest] = failures.keys()
  if (oldest !== undefined && failures.size > maxSize) failures.delete(oldest)
}
