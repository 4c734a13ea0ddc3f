/** A list of numbers outside the heap, so that recordings do not look like a leak. */
export class Numbers {
  #values = new Float64Array(16)
  length = 0

  /**
   * Adds a value.
   *
   * @returns the index of the value
   */
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

  set(index: number, value: number) {
    this.#values[index] = value
  }

  get all() {
    return this.#values.subarray(0, this.length)
  }
}
