import { randomBytes } from '../../core/util/random.js'

/** MQTT 5.0, section 3.8.2.1.2: the largest subscription identifier. */
const LARGEST = 268_435_455

/**
 * Subscription identifiers, a new one for every connection. They begin anywhere: what the broker queued for an earlier
 * process with the same client id has another one, but for one chance in 268 million.
 *
 * @example
 * ```ts
 * const id = new SubscriptionIds().next() // 1 to 268,435,455
 * ```
 */
export class SubscriptionIds {
  #last: number

  /** @param random - source of random bytes */
  constructor(random: (length: number) => Uint8Array = randomBytes) {
    this.#last = random(4).reduce((number, byte) => number * 256 + byte, 0) % LARGEST
  }

  next(): number {
    this.#last = (this.#last % LARGEST) + 1
    return this.#last
  }
}
