/** Fewer gaps than this are not worth closing. */
const FEW = 64

/**
 * All keys in the order they came, each with a number that rises and is never given again. One can go on from a number
 * at any time, whatever came and went in between, and iterating leaves nothing behind. Adding is O(1) on average,
 * removing and going on O(log n); a key that goes leaves a gap, and gaps are closed when they are more than the keys.
 */
export class KeyOrder<K> {
  /** Rising, in step with the keys. */
  #numbers: number[] = []
  #keys: (K | undefined)[] = []
  #gaps = 0
  #last = 0

  /** The newest number given, 0 before the first. */
  get last(): number {
    return this.#last
  }

  /** Puts a key last and gives it its number. */
  add(key: K): number {
    this.#last++
    this.#numbers.push(this.#last)
    this.#keys.push(key)
    return this.#last
  }

  /** Puts a key last with a number it had before, which must be the greatest. */
  addAt(number: number, key: K): void {
    this.#last = number
    this.#numbers.push(number)
    this.#keys.push(key)
  }

  /** Lets no number up to this one be given any more. */
  skipTo(number: number): void {
    this.#last = Math.max(this.#last, number)
  }

  /** Takes the key of a number out; harmless when it is gone already. */
  remove(number: number): void {
    const at = this.#indexOf(number)
    if (this.#numbers[at] !== number || this.#keys[at] === undefined) return
    this.#keys[at] = undefined
    this.#gaps++
    if (this.#gaps > FEW && this.#gaps > this.#keys.length / 2) this.#closeGaps()
  }

  /**
   * Shows the keys numbered `from` to `to`, until `visit` refuses one or `limit` places, gaps included, were looked at.
   * Returns the number to go on from, `undefined` when nothing is left.
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

  /** Where a number is, or the next greater one. */
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
