import type { Clock } from './clock.js'

/**
 * Limits the reports with the same key in each interval, and counts the others.
 *
 * @example
 * ```ts
 * const limiter = new ReportLimiter<string>(clock, 10_000, 1)
 * const withheld = limiter.admit('drop')
 * if (withheld !== undefined) log(`dropped, and ${withheld} before`)
 * ```
 */
export class ReportLimiter<K> {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #intervalMs: number
  readonly #maxReports: number
  readonly #intervals = new Map<K, { readonly since: number; count: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>, intervalMs: number, maxReports: number) {
    this.#clock = clock
    this.#intervalMs = intervalMs
    this.#maxReports = maxReports
  }

  /** Returns the number of reports withheld in the previous interval, or `undefined` to withhold this one. */
  admit(key: K): number | undefined {
    const now = this.#clock.monotonic()
    const interval = this.#intervals.get(key)
    if (interval && now - interval.since < this.#intervalMs) return ++interval.count > this.#maxReports ? undefined : 0
    this.#intervals.set(key, { since: now, count: 1 })
    return interval ? Math.max(0, interval.count - this.#maxReports) : 0
  }
}
