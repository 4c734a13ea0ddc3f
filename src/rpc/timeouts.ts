import type { Clock } from '../clock.js'
import { type Deadline, DeadlineQueue } from '../deadlines.js'

/** Tells of items whose time has come. One timer for all: it may ring too early, for an item that is gone, never too late. */
export class Timeouts<T> {
  readonly #queue = new DeadlineQueue<T>()
  readonly #clock: Clock
  readonly #due: (item: T) => void
  #timer: { readonly at: number; readonly cancel: () => void } | undefined

  constructor(clock: Clock, due: (item: T) => void) {
    this.#clock = clock
    this.#due = due
  }

  /** @param at - ms of the monotonic clock */
  add(at: number, item: T): Deadline<T> {
    const deadline = this.#queue.add(at, item)
    this.#arm()
    return deadline
  }

  remove(deadline: Deadline<T>): void {
    this.#queue.remove(deadline)
    if (this.#queue.size === 0) this.#disarm()
  }

  #arm(): void {
    const earliest = this.#queue.peek()
    if (earliest === undefined || (this.#timer && this.#timer.at <= earliest.at)) return
    this.#disarm()
    const cancel = this.#clock.schedule(earliest.at - this.#clock.monotonic(), () => this.#ring())
    this.#timer = { at: earliest.at, cancel }
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #ring(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    for (let item = this.#queue.takeDue(now); item !== undefined; item = this.#queue.takeDue(now)) this.#due(item)
    this.#arm()
  }
}
