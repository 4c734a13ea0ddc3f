import type { Clock } from '../../../core/util/clock.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'

export interface ReadThrottleHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/**
 * The maximum pause in reading from a client. A longer pause is split, and the client's keep-alive timer is reset after
 * each part.
 */
const MAX_PAUSE_MS = 1_000
/**
 * The minimum extra pause in ms. The actual extra pause is up to twice as long. Without extra pauses, there would be
 * one pause per packet.
 */
const EXTRA_PAUSE_MS = 10
/**
 * The factor of the extra pauses. Its multiples are evenly distributed, so clients with the same rate do not resume in
 * a fixed order.
 */
const GOLDEN_RATIO = 0.618_033_988_749_895

/** Limits a connection's rate by pausing reads, which slows the client down through TCP backpressure. */
export class ReadThrottle {
  packets = 0
  bytes = 0
  readonly #host: ReadThrottleHost
  readonly #rateAccounts: readonly QuotaAccount[]
  readonly #onResume: (pausedMs: number) => void
  #pause: Deadline<() => void> | undefined

  /** @param rateAccounts - accounts to charge in addition to the client's account */
  constructor(host: ReadThrottleHost, rateAccounts: readonly QuotaAccount[], onResume: (pausedMs: number) => void) {
    this.#host = host
    this.#rateAccounts = rateAccounts
    this.#onResume = onResume
    // Counts this connection, so that these accounts are not swept while they pause it.
    for (const account of rateAccounts) account.connections.adjust(1)
  }

  get isPausing(): boolean {
    return this.#pause !== undefined
  }

  /** The number of packets that may be processed now, `Infinity` for an unlimited connection. */
  packetAllowance(account: QuotaAccount | undefined): number {
    if (account === undefined && this.#rateAccounts.length === 0) return Number.POSITIVE_INFINITY
    const now = this.#host.clock.monotonic()
    let allowance = account?.packetAllowance(now) ?? Number.POSITIVE_INFINITY
    for (const account of this.#rateAccounts) allowance = Math.min(allowance, account.packetAllowance(now))
    return allowance - this.packets
  }

  /** Charges the data received since the last call. Returns whether a pause starts. */
  chargeAndPause(account: QuotaAccount | undefined): boolean {
    // This is the common case of a single local user without quotas.
    if (account === undefined && this.#rateAccounts.length === 0) return false
    const { clock, timeouts } = this.#host
    const now = clock.monotonic()
    let waitMs = account === undefined ? 0 : account.charge(this.packets, this.bytes, now)
    for (const account of this.#rateAccounts) waitMs = Math.max(waitMs, account.charge(this.packets, this.bytes, now))
    this.packets = 0
    this.bytes = 0
    if (waitMs === 0) return false
    for (const rateAccount of this.#rateAccounts) rateAccount.recordPause()
    account?.recordPause()
    const pauses = (account ?? this.#rateAccounts[0])?.pauses ?? 0
    const extraMs = EXTRA_PAUSE_MS * (1 + ((GOLDEN_RATIO * pauses) % 1))
    this.#pause = timeouts.add(now + Math.min(waitMs + extraMs, MAX_PAUSE_MS), () => {
      this.#pause = undefined
      this.#onResume(clock.monotonic() - now)
    })
    return true
  }

  /** Stops the throttle. Must be called exactly once. */
  stop(): void {
    if (this.#pause) this.#host.timeouts.remove(this.#pause)
    this.#pause = undefined
    for (const account of this.#rateAccounts) account.connections.release()
  }
}
