import { Fifo } from './collections.js'

/**
 * Runs the consequences of an operation after the operation, one after another. For example, if routing a message
 * disconnects a slow receiver, every subscriber gets the message before the receiver's will. A consequence that has
 * consequences appends them. However long such a chain is, it takes no more stack than its first link.
 *
 * @example
 * ```ts
 * // `defer(publishWill)` inside runs after routing
 * deferredTasks.run(() => router.route(message))
 * ```
 */
export class DeferredTasks {
  readonly #onError: (error: unknown) => void
  readonly #tasks = new Fifo<() => void>()
  #isRunning = false

  /** @param onError - called with the error of a deferred task; the other tasks still run */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  run<T>(work: () => T): T {
    if (this.#isRunning) return work()
    this.#isRunning = true
    try {
      return work()
    } finally {
      this.#drain()
    }
  }

  /** Runs the task after the current {@link run} or task, or immediately if none is running. */
  defer(task: () => void): void {
    this.#tasks.push(task)
    if (this.#isRunning) return
    this.#isRunning = true
    this.#drain()
  }

  #drain(): void {
    try {
      for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) this.#runSafely(task)
    } finally {
      this.#isRunning = false
    }
  }

  #runSafely(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#onError(error)
    }
  }
}

/**
 * Returns a function that runs a loop, and does nothing while the loop runs. So a step of the loop that calls the
 * function again leaves the rest to the running loop, and does not nest a second one.
 *
 * @example
 * ```ts
 * const evict = unlessRunning(() => {
 *   while (isExceeded()) endLargest()
 * })
 * ```
 */
export function unlessRunning(loop: () => void): () => void {
  let isRunning = false
  return () => {
    if (isRunning) return
    isRunning = true
    try {
      loop()
    } finally {
      isRunning = false
    }
  }
}
