import { afterIo, type Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'

/** A piece of work, which returns whether work remains at the deadline in ms of the monotonic clock. */
export type Work = (deadlineMs: number) => boolean

/**
 * The time in ms per event loop iteration for all connections, and the minimum per connection when many are waiting.
 */
const TURN_MS = 8
const MIN_SLICE_MS = 0.25

/**
 * Shares CPU time between connections. Work that exceeds its slice, or the time budget of an event loop iteration,
 * continues in a later iteration after earlier work. A flooding client thus delays others by at most one slice.
 */
export class FairScheduler {
  readonly #clock: Clock
  readonly #waiting = new Fifo<Work>()
  /** The time used in ms, including earlier iterations that used less than a slice. */
  #usedMs = 0
  #isScheduled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs or queues work. Returns whether the work is complete. */
  run(work: Work): boolean {
    const isDone = this.#usedMs < TURN_MS && !this.#runSlice(work)
    if (!isDone) this.#waiting.push(work)
    // Scheduling a callback costs as much as a small piece of work, so small pieces share one iteration.
    if (!isDone || this.#usedMs > MIN_SLICE_MS) this.#scheduleTurn()
    return isDone
  }

  #runSlice(work: Work): boolean {
    const start = this.#clock.monotonic()
    const hasMore = work(start + Math.max(MIN_SLICE_MS, TURN_MS / (1 + this.#waiting.length)))
    this.#usedMs += this.#clock.monotonic() - start
    return hasMore
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterIo(this.#runTurn)
  }

  readonly #runTurn = (): void => {
    this.#isScheduled = false
    this.#usedMs = 0
    for (let count = this.#waiting.length; count > 0 && this.#usedMs < TURN_MS; count--) {
      const work = this.#waiting.shift()
      if (work !== undefined && this.#runSlice(work)) this.#waiting.push(work)
    }
    if (this.#waiting.length > 0) this.#scheduleTurn()
  }
}

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
