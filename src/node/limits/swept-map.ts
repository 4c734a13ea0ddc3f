/** The minimum size at which dead entries are removed. */
const MIN_SWEEP_SIZE = 1_024

/**
 * A map that removes its dead entries when it has doubled since the last time. Clients choose the keys, such as
 * addresses, so the map must forget those that no longer matter.
 *
 * @example
 * ```ts
 * const rates = new SweptMap<RateLimiter>((rate, now) =>
 *   rate.isIdle(now),
 * )
 * rates.getOrAdd('192.0.2.1', now, () => new RateLimiter(100))
 * ```
 */
export class SweptMap<V> {
  readonly #isDead: (value: V, now: number) => boolean
  readonly #entries = new Map<string, V>()
  #sweepSize = MIN_SWEEP_SIZE

  /** @param isDead - returns whether an entry may be removed; only called when another entry is added */
  constructor(isDead: (value: V, now: number) => boolean) {
    this.#isDead = isDead
  }

  get size(): number {
    return this.#entries.size
  }

  values(): Iterable<V> {
    return this.#entries.values()
  }

  /** @param now - ms of the monotonic clock */
  getOrAdd(key: string, now: number, create: () => V): V {
    const existing = this.#entries.get(key)
    if (existing !== undefined) return existing
    if (this.#entries.size >= this.#sweepSize) this.#sweep(now)
    const value = create()
    this.#entries.set(key, value)
    return value
  }

  #sweep(now: number): void {
    for (const [key, value] of this.#entries) if (this.#isDead(value, now)) this.#entries.delete(key)
    this.#sweepSize = Math.max(MIN_SWEEP_SIZE, 2 * this.#entries.size)
  }
}
