const MIN_GAPS_TO_CLOSE = 64

/**
 * Keeps keys in insertion order, with ascending numbers that are never reused. Iteration can resume from any number
 * after any changes, and keeps no state. `add` is O(1) amortized, `remove` and resuming are O(log n). A removed key
 * leaves a gap, and the gaps are closed as soon as they outnumber the keys.
 */
export class KeyOrder<K> {
  /** The numbers in ascending order, parallel to `#keys`. */
  #numbers: number[] = []
  #keys: (K | undefined)[] = []
  #gaps = 0
  #last = 0

  /** The number of the last key added, or 0 before the first key. */
  get last(): number {
    return this.#last
  }

  /** Appends a key and returns its number. */
  add(key: K): number {
    this.#last++
    this.#numbers.push(this.#last)
    this.#keys.push(key)
    return this.#last
  }

  /** Appends a key with a number from a captured state. The number must exceed all others. */
  addAt(number: number, key: K): void {
    this.#last = number
    this.#numbers.push(number)
    this.#keys.push(key)
  }

  /** Reserves all numbers up to the given number. */
  skipTo(number: number): void {
    this.#last = Math.max(this.#last, number)
  }

  /** Removes a key. Does nothing if the key was already removed. */
  remove(number: number): void {
    const at = this.#indexOf(number)
    if (this.#numbers[at] !== number || this.#keys[at] === undefined) return
    this.#keys[at] = undefined
    this.#gaps++
    if (this.#gaps > MIN_GAPS_TO_CLOSE && this.#gaps > this.#keys.length / 2) this.#closeGaps()
  }

  /**
   * Visits the keys numbered `from` to `to` until `visit` returns false or `limit` positions, gaps included, have been
   * visited. Returns the number to resume from, or `undefined` at the end.
   */
  walk(from: number, to: number, limit: number, visit: (key: K) => boolean): number | undefined {
    const start = this.#indexOf(from)
    for (let at = start; ; at++) {
      const number = this.#numbers[at]
      if (number === undefined || number > to) return undefined
      const key = this.#keys[at]
      if (at - start >= limit || (key !== undefined && !visit(key))) return number
    }
  }

  /** Returns the index of a number or, if it is missing, of the next greater number. */
  #indexOf(number: number): number {
    let [low, high] = [0, this.#numbers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#numbers[middle] ?? 0) < number) low = middle + 1
      else high = middle
    }
    return low
  }

  #closeGaps(): void {
    const keys = this.#keys
    this.#numbers = this.#numbers.filter((_, at) => keys[at] !== undefined)
    this.#keys = keys.filter(key => key !== undefined)
    this.#gaps = 0
  }
}
