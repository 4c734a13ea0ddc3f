import { Fifo } from '../../../core/util/fifo.js'
import type { Delivery } from '../routing/delivery.js'

/** Deliveries that wait for their turn, in order; some of them only for so long. */
export class Waiting {
  readonly #queue = new Fifo<Delivery>()
  /** Nothing expires before this, ms. */
  #soonest = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#queue.length
  }

  push(delivery: Delivery): void {
    this.#queue.push(delivery)
    this.#soonest = Math.min(this.#soonest, delivery.expiresAt ?? Number.POSITIVE_INFINITY)
  }

  shift(): Delivery | undefined {
    return this.#queue.shift()
  }

  /** Takes out what is over its time at `now` (ms of the monotonic clock), and hands it to `expired`. */
  expire(now: number, expired: (delivery: Delivery) => void): void {
    if (now < this.#soonest) return
    this.take(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now, expired)
  }

  /** Takes out what fits, and hands it to `taken`. */
  take(fits: (delivery: Delivery) => boolean, taken: (delivery: Delivery) => void): void {
    this.#soonest = Number.POSITIVE_INFINITY
    for (let left = this.#queue.length; left > 0; left--) {
      const delivery = this.#queue.shift()
      if (delivery === undefined) break
      if (fits(delivery)) taken(delivery)
      else this.push(delivery)
    }
  }
}
