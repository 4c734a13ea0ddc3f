/** A reproducible random generator (mulberry32). The same seed gives the same numbers. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Like `chance`, but draws nothing for an undefined or zero probability, so that older schedules stay unchanged. */
  chanceOf(probability: number | undefined): boolean {
    return probability !== undefined && probability > 0 && this.chance(probability)
  }

  /** Returns the rate of a fault that occurs only with a probability, and otherwise 0. */
  rate(probability: number, rate: number): number {
    return this.chance(probability) ? rate : 0
  }

  /** @param items - at least one item */
  pick<T>(items: readonly T[]): T {
    const index = this.int(0, items.length - 1)
    for (const item of items.slice(index, index + 1)) return item
    throw new RangeError('Expected items to pick from, got none')
  }

  /** Creates an independent sequence, so that one actor does not depend on the timing of other actors. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32))
  }
}
