/** A list of numbers that does not count as heap, so that what is noted does not look like a leak. */
export class Numbers {
  #values = new Float64Array(16)
  length = 0

  /** @param {number} value @returns {number} its index */
  push(value) {
    if (this.length === this.#values.length) {
      const larger = new Float64Array(2 * this.length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.length] = value
    return this.length++
  }

  /** @param {number} index */
  at(index) {
    return (index < this.length ? this.#values[index] : undefined) ?? Number.NaN
  }

  /** @param {number} index @param {number} value */
  set(index, value) {
    this.#values[index] = value
  }

  /** Those there are now. */
  get all() {
    return this.#values.subarray(0, this.length)
  }
}
