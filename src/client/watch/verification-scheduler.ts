import type { Clock } from '../../core/util/clock.js'

/**
 * Minimum pause between verifications, ms. With many items, several are verified per pause instead of shortening it.
 */
const MIN_PAUSE_MS = 20

/** Spreads verifying reads evenly, so that each item is verified once per interval. */
export class VerificationScheduler<T> {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #items: ReadonlyMap<string, T>
  readonly #verify: (one: T) => void
  /**
   * Names to verify in this round, the next one last. Not a map iterator, which would retain every table that the map
   * has outgrown since.
   */
  #remaining: string[] = []
  #cancel: (() => void) | undefined

  constructor(clock: Clock, intervalMs: number, items: ReadonlyMap<string, T>, verify: (one: T) => void) {
    this.#clock = clock
    this.#intervalMs = intervalMs
    this.#items = items
    this.#verify = verify
  }

  start(): void {
    this.stop()
    if (this.#intervalMs > 0) this.#arm()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #arm(): void {
    const pauseMs = Math.max(MIN_PAUSE_MS, this.#intervalMs / Math.max(1, this.#items.size))
    this.#cancel = this.#clock.schedule(pauseMs, () => {
      const count = Math.ceil((this.#items.size * pauseMs) / this.#intervalMs)
      this.#arm()
      for (let i = 0; i < count; i++) this.#verifyNext()
    })
  }

  #verifyNext(): void {
    const next = this.#takeNext() ?? this.#startRound()
    if (next !== undefined) this.#verify(next)
  }

  #takeNext(): T | undefined {
    for (let name = this.#remaining.pop(); name !== undefined; name = this.#remaining.pop()) {
      const next = this.#items.get(name)
      if (next !== undefined) return next
    }
    return undefined
  }

  #startRound(): T | undefined {
    this.#remaining = Array.from(this.#items.keys()).reverse()
    return this.#takeNext()
  }
}
