/** So much of its time a rate may be ahead, ms: who was quiet may hurry for a moment. */
const BURST = 1_000

/**
 * How much may come in a second. Nothing is refused: what came is charged, and who is ahead of its time has to wait.
 *
 * @example
 * ```ts
 * const rate = new Rate(1_000)
 * rate.charge(3_000, now) // a second's worth is free, the next two take two seconds
 * rate.wait(now) // 2000
 * ```
 */
export class RateLimiter {
  readonly #perMs: number
  /** When all is paid that was charged, ms of the monotonic clock. */
  #paid = Number.NEGATIVE_INFINITY

  /** @param perSecond - `Infinity` for any number */
  constructor(perSecond: number) {
    this.#perMs = perSecond / 1_000
  }

  /** Something came, at monotonic time `now` (ms). */
  charge(amount: number, now: number): void {
    this.#paid = Math.max(this.#paid, now - BURST) + amount / this.#perMs
  }

  /** How long to wait for all to be paid, ms. */
  wait(now: number): number {
    return Math.max(this.#paid - now, 0)
  }

  /** How much may come before there is anything to wait for; negative while there is. */
  room(now: number): number {
    return (now - Math.max(this.#paid, now - BURST)) * this.#perMs
  }

  /** Whether it is as if nothing had come. */
  rested(now: number): boolean {
    return this.#paid <= now - BURST
  }
}

/** With fewer it is not looked for those that are at rest. */
const FEW = 1_024

/**
 * A {@link RateLimiter} for each of many, such as for each address; those for which nothing came lately are forgotten.
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
  #sweepAt = FEW

  /** @param now - monotonic, ms */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond
    this.#now = now
  }

  /** Number of those that are kept in mind. */
  get size(): number {
    return this.#rates.size
  }

  of(name: string): RateLimiter {
    const known = this.#rates.get(name)
    if (known !== undefined) return known
    if (this.#rates.size >= this.#sweepAt) this.#sweep()
    const rate = new RateLimiter(this.#perSecond)
    this.#rates.set(name, rate)
    return rate
  }

  #sweep(): void {
    const now = this.#now()
    for (const [name, rate] of this.#rates) if (rate.rested(now)) this.#rates.delete(name)
    this.#sweepAt = Math.max(FEW, 2 * this.#rates.size)
  }
}
