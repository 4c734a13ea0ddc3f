import type { Clock } from '../../src/core/util/clock.js'

interface Task {
  readonly at: number
  readonly run: () => void
}

/** 3 October 2023, 23:07:05 GMT, which is the time of the example in the protocol. */
export const START = 1_696_374_425_000

/** A clock that the spec advances. Timers run at their scheduled times, in order. */
export class ManualClock implements Clock {
  #wall: number
  #monotonic = 1_000
  readonly #tasks = new Set<Task>()
  #scheduled = 0

  constructor(start: number = START) {
    this.#wall = start
  }

  /** The number of calls of `schedule`. */
  get scheduled(): number {
    return this.#scheduled
  }

  /** The number of tasks that have neither run nor been cancelled. */
  get pending(): number {
    return this.#tasks.size
  }

  now(): number {
    return this.#wall
  }

  monotonic(): number {
    return this.#monotonic
  }

  schedule(delay: number, task: () => void): () => void {
    this.#scheduled++
    const entry: Task = { at: this.#monotonic + Math.max(0, delay), run: task }
    this.#tasks.add(entry)
    return () => this.#tasks.delete(entry)
  }

  /** Advances time. */
  advance(ms: number): void {
    const end = this.#monotonic + ms
    for (let task = this.#next(end); task !== undefined; task = this.#next(end)) {
      this.#tasks.delete(task)
      this.#move(Math.max(0, task.at - this.#monotonic))
      task.run()
    }
    this.#move(end - this.#monotonic)
  }

  /** Advances time but runs no timers, as in a blocked event loop. The next `advance` runs them. */
  block(ms: number): void {
    this.#move(ms)
  }

  /** Sets the wall clock forward or back, as an operator does. The monotonic time does not advance. */
  jump(ms: number): void {
    this.#wall += ms
  }

  #move(ms: number): void {
    this.#wall += ms
    this.#monotonic += ms
  }

  #next(end: number): Task | undefined {
    let first: Task | undefined
    for (const task of this.#tasks) if (task.at <= end && (first === undefined || task.at < first.at)) first = task
    return first
  }
}
