/** The burst allowance: the time that a quiet sender may be ahead of its rate, ms. */
const BURST_MS = 1_000

/**
 * A rate limiter that rejects nothing. All amounts are charged, and a sender ahead of its rate must wait.
 *
 * @example
 * ```ts
 * const rate = new RateLimiter(1_000)
 * // One second's worth is free, the rest takes two seconds
 * rate.charge(3_000, now)
 * rate.wait(now) // 2000
 * ```
 */
export class RateLimiter {
  readonly #perMs: number
  /** Time from which the sender is within its rate again, ms of the monotonic clock. */
  #readyAt = Number.NEGATIVE_INFINITY

  constructor(perSecond: number) {
    this.#perMs = perSecond / 1_000
  }

  charge(amount: number, now: number): void {
    this.#readyAt = Math.max(this.#readyAt, now - BURST_MS) + amount / this.#perMs
  }

  wait(now: number): number {
    return Math.max(this.#readyAt - now, 0)
  }

  /** Returns the amount that can be charged without a wait. The amount is negative while the sender must wait. */
  available(now: number): number {
    return (now - Math.max(this.#readyAt, now - BURST_MS)) * this.#perMs
  }

  isIdle(now: number): boolean {
    return this.#readyAt <= now - BURST_MS
  }
}

/** Minimum size at which expired entries are swept. */
const MIN_SWEEP_SIZE = 1_024

/**
 * One {@link RateLimiter} per name, such as an address. Idle limiters are dropped.
 *
 * @example
 * ```ts
 * rates.of('192.0.2.1').charge(1, now)
 * ```
 */
export class KeyedRateLimiter {
  readonly #perSecond: number
  readonly #now: () => number
  readonly #rates = new Map<string, RateLimiter>()
  #sweepAt = MIN_SWEEP_SIZE

  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond
    this.#now = now
  }

  get size(): number {
    return this.#rates.size
  }

  of(name: string): RateLimiter {
    const existing = this.#rates.get(name)
    if (existing !== undefined) return existing
    if (this.#rates.size >= this.#sweepAt) this.#sweep()
    const rate = new RateLimiter(this.#perSecond)
    this.#rates.set(name, rate)
    return rate
  }

  #sweep(): void {
    const now = this.#now()
    for (const [name, rate] of this.#rates) if (rate.isIdle(now)) this.#rates.delete(name)
    this.#sweepAt = Math.max(MIN_SWEEP_SIZE, 2 * this.#rates.size)
  }
}
