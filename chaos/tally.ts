/** Counters by name. */
export class Tally {
  #counts: Map<string, number> = new Map()

  add(name: string, count = 1) {
    this.#counts.set(name, this.of(name) + count)
  }

  of(name: string) {
    return this.#counts.get(name) ?? 0
  }

  /** The names in alphabetical order, with their counts. */
  get rows() {
    return Array.from(this.#counts).sort(([a], [b]) => (a < b ? -1 : 1))
  }
}
