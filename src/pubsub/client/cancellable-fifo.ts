import { Fifo } from '../../core/util/fifo.js'

/** Something that may stop waiting in the middle of a queue. */
export interface Waiting {
  readonly state: string
}

/**
 * First in, first out, for items that may stop waiting before their turn: those whose state is not `waiting` any more are
 * skipped. They keep their places until there are many of them, so that the queue is never longer than twice what waits
 * in it.
 */
export class CancellableFifo<T extends Waiting> {
  #items = new Fifo<T>()
  #ceased = 0

  /** How many wait. */
  get length(): number {
    return this.#items.length - this.#ceased
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** The first one that still waits, which stays. */
  peek(): T | undefined {
    for (let item = this.#items.peek(); item !== undefined; item = this.#items.peek()) {
      if (item.state === 'waiting') return item
      this.#items.shift()
      this.#ceased--
    }
    return undefined
  }

  /** Takes the first one that still waits. */
  shift(): T | undefined {
    for (let item = this.#items.shift(); item !== undefined; item = this.#items.shift()) {
      if (item.state === 'waiting') return item
      this.#ceased--
    }
    return undefined
  }

  /** One of the items has ceased to wait. */
  ceased(): void {
    this.#ceased++
    if (this.#ceased > this.length) this.prepend([])
  }

  /** Puts items before all others. */
  prepend(first: readonly T[]): void {
    const items = new Fifo<T>()
    for (const item of first) items.push(item)
    for (let item = this.shift(); item !== undefined; item = this.shift()) items.push(item)
    this.#items = items
  }
}
