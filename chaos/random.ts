/** Chance that can be repeated: the same seed gives the same numbers (mulberry32). */
export class Random {
  #state

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer in [low, high]. */
  int(low: number, high: number) {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number) {
    return this.next() < probability
  }

  /** @param items - at least one */
  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)] as T
  }

  /** Chance of its own, so that what one actor does, does not depend on when the others act. */
  fork() {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }
}
