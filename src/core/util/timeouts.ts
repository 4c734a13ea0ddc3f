import type { Clock } from './clock.js'
import { type Deadline, DeadlineQueue } from './deadlines.js'

/**
 * One timer for the earliest of many deadlines. It may ring too early, for something that is done by then, but never too
 * late; what it rings for does what is due and sets it anew.
 *
 * @example
 * ```ts
 * const alarm = new Alarm(clock, () => { doWhatIsDue(); alarm.set(queue.earliest) })
 * alarm.set(queue.earliest)
 * ```
 */
export class DeadlineTimer {
  readonly #clock: Clock
  readonly #ring: (late: number) => void
  #timer: { readonly at: number; readonly cancel: () => void } | undefined

  /**
   * @param ring - is told how much later it is by the wall clock than it should be, ms: a lot after the computer slept,
   * when timers stand still
   */
  constructor(clock: Clock, ring: (late: number) => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** @param at - when to ring at the latest, ms of the monotonic clock; `Infinity` for not at all */
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
      this.#ring(this.#clock.now() - due)
    })
    this.#timer = { at, cancel }
  }
}

/**
 * Tells of items whose time has come, with one timer for all of them.
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
  readonly #due: (item: T) => void
  readonly #deadlineTimer: DeadlineTimer

  constructor(clock: Clock, due: (item: T) => void) {
    this.#clock = clock
    this.#due = due
    this.#deadlineTimer = new DeadlineTimer(clock, () => this.#ring())
  }

  /** @param at - ms of the monotonic clock */
  add(at: number, item: T): Deadline<T> {
    const deadline = this.#queue.add(at, item)
    this.#deadlineTimer.set(this.#queue.earliest)
    return deadline
  }

  /** Removes an item before its time; harmless when it is gone already. */
  remove(deadline: Deadline<T>): void {
    this.#queue.remove(deadline)
    this.#deadlineTimer.set(this.#queue.earliest)
  }

  #ring(): void {
    const now = this.#clock.monotonic()
    for (let item = this.#queue.takeDue(now); item !== undefined; item = this.#queue.takeDue(now)) this.#due(item)
    this.#deadlineTimer.set(this.#queue.earliest)
  }
}
