/** A list of numbers that does not count as heap, so that what is noted does not look like a leak. */
export class Numbers {
  #values = new Float64Array(16)
  length = 0

  /** @param value -  @returns its index */
  push(value: number): number {
    if (this.length === this.#values.length) {
      const larger = new Float64Array(2 * this.length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.length] = value
    return this.length++
  }

  at(index: number) {
    return (index < this.length ? this.#values[index] : undefined) ?? Number.NaN
  }

  /** @param index -  @param value */
  set(index: number, value: number) {
    this.#values[index] = value
  }

  /** Those there are now. */
  get all() {
    return this.#values.subarray(0, this.length)
  }
}
