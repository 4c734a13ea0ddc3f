import type { Clock } from './clock.js'
import { type Deadline, DeadlineQueue } from './deadlines.js'

/**
 * One timer for the earliest of many deadlines. The timer may fire early, for a deadline that was removed, but never
 * late. The callback handles the due items and sets the timer again.
 *
 * @example
 * ```ts
 * const timer = new DeadlineTimer(clock, () => {
 *   handleDue()
 *   timer.set(queue.earliest)
 * })
 * timer.set(queue.earliest)
 * ```
 */
export class DeadlineTimer {
  readonly #clock: Clock
  readonly #onFire: (late: number) => void
  #timer: { readonly at: number; readonly cancel: () => void } | undefined

  /**
   * @param onFire - called with the delay by the wall clock, ms, which is large after the computer slept, because
   * timers stop
   */
  constructor(clock: Clock, onFire: (late: number) => void) {
    this.#clock = clock
    this.#onFire = onFire
  }

  /** @param at - latest time to fire, ms of the monotonic clock; `Infinity` to stop */
  set(at: number): void {
    const never = at === Number.POSITIVE_INFINITY
    if (this.#timer && this.#timer.at <= at && !never) return
    this.#timer?.cancel()
    this.#timer = undefined
    if (never) return
    const delay = Math.max(0, at - this.#clock.monotonic())
    const due = this.#clock.now() + delay
    const cancel = this.#clock.schedule(delay, () => {
      this.#timer = undefined
      this.#onFire(this.#clock.now() - due)
    })
    this.#timer = { at, cancel }
  }
}

/**
 * Calls back for items that are due. All items share one timer.
 *
 * @example
 * ```ts
 * const timeouts = new Timeouts<Request>(clock, request => request.fail())
 * const deadline = timeouts.add(clock.monotonic() + 1_000, request)
 * timeouts.remove(deadline)
 * ```
 */
export class Timeouts<T> {
  readonly #queue = new DeadlineQueue<T>()
  readonly #clock: Clock
  readonly #onDue: (item: T) => void
  readonly #deadlineTimer: DeadlineTimer

  constructor(clock: Clock, due: (item: T) => void) {
    this.#clock = clock
    this.#onDue = due
    this.#deadlineTimer = new DeadlineTimer(clock, () => this.#fire())
  }

  add(at: number, item: T): Deadline<T> {
    const deadline = this.#queue.add(at, item)
    this.#deadlineTimer.set(this.#queue.earliest)
    return deadline
  }

  remove(deadline: Deadline<T>): void {
    this.#queue.remove(deadline)
    this.#deadlineTimer.set(this.#queue.earliest)
  }

  #fire(): void {
    const now = this.#clock.monotonic()
    for (let item = this.#queue.takeDue(now); item !== undefined; item = this.#queue.takeDue(now)) this.#onDue(item)
    this.#deadlineTimer.set(this.#queue.earliest)
  }
}
