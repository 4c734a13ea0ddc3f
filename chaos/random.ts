import { Random as Base } from '../spec/simulation/random.js'

/** The random number generator of the chaos runs. Each actor has a fork, so that the actors' draws are independent. */
export class Random extends Base {
  /** @param items - at least one item */
  override pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)] as T
  }

  /** Creates an independent sequence, so that one actor does not depend on the timing of other actors. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }
}
