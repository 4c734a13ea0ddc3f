import type { Clock } from '../../../src/core/util/clock.js'
import { type Deadline, DeadlineQueue } from '../../../src/core/util/deadlines.js'

const START_MS = 1_800_000_000_000

/** A clock that advances from event to event. */
export class VirtualTime {
  readonly #queue = new DeadlineQueue<() => void>()
  #now = 0
  #sequence = 0

  get now(): number {
    return Math.floor(this.#now)
  }

  /** @param rate - the rate of the clock relative to other clocks */
  clock(rate = 1): Clock {
    return {
      now: () => START_MS + Math.floor(this.now * rate),
      monotonic: () => this.now * rate,
      schedule: (delay, task) => {
        const entry = this.after(delay / rate, task)
        return () => this.#queue.remove(entry)
      },
    }
  }

  /** Schedules a task. Tasks of the same time run in the order in which they were scheduled. */
  after(delay: number, task: () => void): Deadline<() => void> {
    return this.#queue.add(this.now + Math.max(0, Math.ceil(delay)) + ++this.#sequence * 1e-7, task)
  }

  /** Advances to `end`, in milliseconds since the start. */
  runUntil(end: number): void {
    for (let next = this.#queue.peek(); next !== undefined && next.at < end + 1; next = this.#queue.peek()) {
      this.#queue.remove(next)
      this.#now = next.at
      next.item()
    }
    this.#now = end
  }
}
