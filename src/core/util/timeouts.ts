import { Alarm } from './alarm.js'
import type { Clock } from './clock.js'
import { type Deadline, DeadlineQueue } from './deadlines.js'

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
  readonly #alarm: Alarm

  constructor(clock: Clock, due: (item: T) => void) {
    this.#clock = clock
    this.#due = due
    this.#alarm = new Alarm(clock, () => this.#ring())
  }

  /** @param at - ms of the monotonic clock */
  add(at: number, item: T): Deadline<T> {
    const deadline = this.#queue.add(at, item)
    this.#alarm.set(this.#queue.earliest)
    return deadline
  }

  /** Removes an item before its time; harmless when it is gone already. */
  remove(deadline: Deadline<T>): void {
    this.#queue.remove(deadline)
    this.#alarm.set(this.#queue.earliest)
  }

  #ring(): void {
    const now = this.#clock.monotonic()
    for (let item = this.#queue.takeDue(now); item !== undefined; item = this.#queue.takeDue(now)) this.#due(item)
    this.#alarm.set(this.#queue.earliest)
  }
}
