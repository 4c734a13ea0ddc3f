import { SweptMap } from './swept-map.js'

/** The default burst allowance: the time that a quiet sender may be ahead of its rate, ms. */
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
  readonly #burstMs: number
  /** Time from which the sender is within its rate again, ms of the monotonic clock. */
  #readyAt = Number.NEGATIVE_INFINITY

  constructor(perSecond: number, burstMs = BURST_MS) {
    this.#perMs = perSecond / 1_000
    this.#burstMs = burstMs
  }

  charge(amount: number, now: number): void {
    this.#readyAt = Math.max(this.#readyAt, now - this.#burstMs) + amount / this.#perMs
  }

  wait(now: number): number {
    return Math.max(this.#readyAt - now, 0)
  }

  /** Returns the amount that can be charged without a wait. The amount is negative while the sender must wait. */
  available(now: number): number {
    return (now - Math.max(this.#readyAt, now - this.#burstMs)) * this.#perMs
  }

  isIdle(now: number): boolean {
    return this.#readyAt <= now - this.#burstMs
  }
}

/**
 * One {@link RateLimiter} per name, such as an address. Idle limiters are dropped.
 *
 * @example
 * ```ts
 * rates.of('192.0.2.1', now).charge(1, now)
 * ```
 */
export class KeyedRateLimiter {
  readonly #perSecond: number
  readonly #burstMs: number
  readonly #rates = new SweptMap<RateLimiter>((rate, now) => rate.isIdle(now))

  constructor(perSecond: number, burstMs = BURST_MS) {
    this.#perSecond = perSecond
    this.#burstMs = burstMs
  }

  /** @param now - ms of the monotonic clock. The limiter is valid until the next call. */
  of(name: string, now: number): RateLimiter {
    return this.#rates.getOrAdd(name, now, () => new RateLimiter(this.#perSecond, this.#burstMs))
  }
}
