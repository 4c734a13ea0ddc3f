import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'

/** The longest pause between two looks, ms: so soon after a store has come its watches are back. */
const LONGEST_PAUSE = 700

/**
 * Where watches wait that found no store at the broker: one of them tries again every now and then, and when it gets an
 * answer all others follow, so that ten thousand watches ask no more often than one.
 */
export class Lookout {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #attempt = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits to try again. */
  wait(again: () => void): { unsubscribe(): void } {
    this.#waiting.add(again)
    this.#arm()
    return { unsubscribe: () => this.#waiting.delete(again) }
  }

  /** A store has answered. */
  seen(): void {
    if (this.#attempt === 0) return
    this.#rest()
    // One that tries again may make others leave, and come back to wait.
    for (const again of Array.from(this.#waiting)) if (this.#waiting.delete(again)) again()
  }

  /** The connection is gone, and with it all that waited. */
  clear(): void {
    this.#rest()
    this.#waiting.clear()
  }

  #rest(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#attempt = 0
  }

  #arm(): void {
    this.#cancel ??= this.#clock.schedule(backoff(++this.#attempt, { maximum: LONGEST_PAUSE }), () => this.#look())
  }

  /** One goes; if it is not heard of again, because its watch has ended, the next one goes after a pause. */
  #look(): void {
    this.#cancel = undefined
    const [first] = this.#waiting
    if (first === undefined) return
    this.#waiting.delete(first)
    if (this.#waiting.size > 0) this.#arm()
    first()
  }
}
