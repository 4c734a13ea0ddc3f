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
export class Rate {
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
