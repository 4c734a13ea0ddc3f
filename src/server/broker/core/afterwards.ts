/**
 * What is to come behind something that is under way, such as the last will of a client for whom the message was too much:
 * everybody gets that behind the message.
 *
 * @example
 * ```ts
 * afterwards.during(() => router.route(message)) // calls `later(publishWill)`, which waits until it is routed
 * ```
 */
export class Afterwards {
  #busy = false
  readonly #tasks: (() => void)[] = []

  /** Does the work, and then what was to come behind it. */
  during<T>(work: () => T): T {
    if (this.#busy) return work()
    this.#busy = true
    try {
      return work()
    } finally {
      this.#busy = false
      for (const task of this.#tasks.splice(0)) task()
    }
  }

  /** Does it now if nothing is under way. */
  later(task: () => void): void {
    if (this.#busy) this.#tasks.push(task)
    else task()
  }
}
