import { backoff } from '../../core/util/backoff.js'

/** Those who wait come one after the other within this time, ms, when a lease becomes free. */
const HERD = 50
const FIRST_RETRY = 50
const LONGEST_PATIENCE = 60_000

/** When a contender asks next. Times in ms. */
export class Pace {
  readonly #duration: number
  #failures = 0
  #silences = 0

  /** @param duration - of the lease */
  constructor(duration: number) {
    this.#duration = duration
  }

  /** The store answered. */
  answered(): void {
    this.#failures = 0
  }

  /** It asked in vain, and heard nothing of the holder before. */
  inVain(): void {
    this.#silences++
  }

  /** There was news of the lock key. */
  heard(): void {
    this.#silences = 0
  }

  /** Until a lease that is free is asked for: not all at once. */
  soon(): number {
    return backoff(1, { initial: Math.min(HERD, this.#duration / 10) })
  }

  /**
   * Until silence of the holder is taken for its end; the longer it is held beyond our own length, the less often we
   * ask.
   */
  patience(): number {
    const longer = Math.min(this.#duration * 2 ** this.#silences, LONGEST_PATIENCE)
    return Math.max(this.#duration, longer) + this.soon()
  }

  /** Until a request that failed is tried again. */
  retry(): number {
    this.#failures++
    return backoff(this.#failures, { initial: FIRST_RETRY, maximum: this.#duration })
  }
}
