import { Random as Base } from '../spec/simulation/random.js'

/** The simulations' chance, for actors that act at once. */
export class Random extends Base {
  /** @param items - at least one */
  override pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)] as T
  }

  /** Chance of its own, so that what one actor does, does not depend on when the others act. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }
}
