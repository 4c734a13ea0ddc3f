/** Chance that can be repeated: the same seed gives the same numbers (mulberry32). */
export class Random {
  #state

  /** @param {number} seed */
  constructor(seed) {
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

  /**
   * An integer in [low, high].
   *
   * @param {number} low
   * @param {number} high
   */
  int(low, high) {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  /** @param {number} probability */
  chance(probability) {
    return this.next() < probability
  }

  /**
   * @template T
   * @param {readonly T[]} items - at least one
   * @returns {T}
   */
  pick(items) {
    return /** @type {T} */ (items[this.int(0, items.length - 1)])
  }

  /** Chance of its own, so that what one actor does, does not depend on when the others act. */
  fork() {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }
}
