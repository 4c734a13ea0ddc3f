import type { Clock } from '../../src/core/util/clock.js'
import { type Deadline, DeadlineQueue } from '../../src/core/util/deadlines.js'

/** Wall time at which every simulation starts. */
const START = 1_800_000_000_000

/** Time that passes only from event to event. */
export class VirtualTime {
  readonly #queue = new DeadlineQueue<() => void>()
  #now = 0
  #sequence = 0

  /** ms since the start. */
  get now(): number {
    return Math.floor(this.#now)
  }

  /** A clock whose wall time is off by so many ms, and that runs so much faster than others. */
  clock(offset = 0, rate = 1): Clock {
    return {
      now: () => START + Math.floor(this.now * rate) + offset,
      monotonic: () => this.now * rate,
      schedule: (delay, task) => {
        const entry = this.after(delay / rate, task)
        return () => this.#queue.remove(entry)
      },
    }
  }

  /** Runs a task later; tasks of the same time run in the order they were asked for. */
  after(delay: number, task: () => void): Deadline<() => void> {
    return this.#queue.add(this.now + Math.max(0, Math.ceil(delay)) + ++this.#sequence * 1e-7, task)
  }

  /** Lets time pass until `end`, ms since the start. */
  runUntil(end: number): void {
    for (let next = this.#queue.peek(); next !== undefined && next.at < end + 1; next = this.#queue.peek()) {
      this.#queue.remove(next)
      this.#now = next.at
      next.item()
    }
    this.#now = end
  }
}

/** A clock that knows how many of its timers have neither run nor been cancelled. */
export class CountedClock implements Clock {
  readonly #clock: Clock
  pending = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  schedule(delay: number, task: () => void): () => void {
    let isPending = true
    const end = (): boolean => {
      const wasPending = isPending
      this.pending -= Number(wasPending)
      isPending = false
      return wasPending
    }
    this.pending++
    const cancel = this.#clock.schedule(delay, () => {
      if (end()) task()
    })
    return () => {
      end()
      cancel()
    }
  }
}
