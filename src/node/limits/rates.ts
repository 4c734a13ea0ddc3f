import { Rate } from './rate.js'

/** With fewer it is not looked for those that are at rest. */
const FEW = 1_024

/**
 * A {@link Rate} for each of many, such as for each address; those for which nothing came lately are forgotten.
 *
 * @example
 * ```ts
 * rates.of('192.0.2.1').charge(1, now)
 * ```
 */
export class Rates {
  readonly #perSecond: number
  readonly #now: () => number
  readonly #rates = new Map<string, Rate>()
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

  of(name: string): Rate {
    const known = this.#rates.get(name)
    if (known !== undefined) return known
    if (this.#rates.size >= this.#sweepAt) this.#sweep()
    const rate = new Rate(this.#perSecond)
    this.#rates.set(name, rate)
    return rate
  }

  #sweep(): void {
    const now = this.#now()
    for (const [name, rate] of this.#rates) if (rate.rested(now)) this.#rates.delete(name)
    this.#sweepAt = Math.max(FEW, 2 * this.#rates.size)
  }
}
