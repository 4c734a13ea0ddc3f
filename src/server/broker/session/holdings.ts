import type { Budget } from '../limits/budget.js'
import { LIMIT } from '../limits/limits.js'
import { type Delivery, sizeOf } from '../routing/delivery.js'

/** The account of what is kept for one session: messages, and their bytes, which the budget counts, too. */
export class Holdings {
  readonly #budget: Budget
  #messages = 0
  #replayed = 0
  #bytes = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** Retained messages that wait. They are kept anyway, and cost nothing here. */
  get replayed(): number {
    return this.#replayed
  }

  /** What is kept, bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether more than half of what may be kept is. */
  get strained(): boolean {
    return this.#messages > LIMIT.queuedMessages / 2 || this.#bytes > LIMIT.queuedBytes / 2
  }

  /** Whether nothing more may be kept. */
  get full(): boolean {
    return this.#messages >= LIMIT.queuedMessages || this.#bytes >= LIMIT.queuedBytes
  }

  /** Counts a delivery, whose content has memory of its own. */
  keep(delivery: Delivery): void {
    if (delivery.replayed) this.#replayed++
    else this.#count(1, sizeOf(delivery))
  }

  /** A delivery is not kept any more. */
  release(delivery: Delivery): void {
    if (delivery.replayed) this.#replayed--
    else this.#count(-1, -sizeOf(delivery))
  }

  /** Nothing is kept any more. */
  clear(): void {
    this.#count(-this.#messages, -this.#bytes)
    this.#replayed = 0
  }

  #count(messages: number, bytes: number): void {
    this.#messages += messages
    this.#bytes += bytes
    this.#budget.count(bytes)
  }
}
