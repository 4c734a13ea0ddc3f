import { Fifo } from '../../core/util/fifo.js'

/** What a queue has to know of a message. */
export interface Queued {
  /** Client id of whom it is for; '' for everybody. */
  readonly receiver: string
  readonly isNotification: boolean
}

/**
 * One queue for each receiver. A client gets its answers and notifications in the order in which the store made them:
 * an answer that passed a notification would tell a value before the changes that led to it. Across clients, those
 * whose next message is an answer go first, and each takes its turn: one client can cause any number of notifications,
 * and answers to others do not wait for these.
 */
export class Queues<T extends Queued> {
  readonly #byReceiver = new Map<string, Fifo<T>>()
  /** Receivers whose next message is an answer, in their turn. */
  readonly #answered = new Fifo<string>()
  /** Receivers whose next message is a notification, in their turn. */
  readonly #notified = new Fifo<string>()

  push(message: T): void {
    const queue = this.#byReceiver.get(message.receiver)
    if (queue !== undefined) {
      queue.push(message)
      return
    }
    const fresh = new Fifo<T>()
    fresh.push(message)
    this.#byReceiver.set(message.receiver, fresh)
    this.#takeTurn(message)
  }

  /** Takes the next message; an answer if `onlyAnswers`. */
  shift(onlyAnswers: boolean): T | undefined {
    const receiver = this.#answered.shift() ?? (onlyAnswers ? undefined : this.#notified.shift())
    const queue = receiver === undefined ? undefined : this.#byReceiver.get(receiver)
    const message = queue?.shift()
    const next = queue?.peek()
    if (next !== undefined) this.#takeTurn(next)
    else if (receiver !== undefined) this.#byReceiver.delete(receiver)
    return message
  }

  /** Takes all that match out, and returns them. */
  remove(matches: (message: T) => boolean): T[] {
    const removed: T[] = []
    const queues = Array.from(this.#byReceiver.values())
    this.#byReceiver.clear()
    this.#answered.clear()
    this.#notified.clear()
    for (const queue of queues)
      for (const message of queue) {
        if (matches(message)) removed.push(message)
        else this.push(message)
      }
    return removed
  }

  #takeTurn({ receiver, isNotification }: T): void {
    if (isNotification) this.#notified.push(receiver)
    else this.#answered.push(receiver)
  }
}
