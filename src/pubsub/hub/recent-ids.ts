/**
 * The latest so many ids, to recognise one that comes again. (Client specification, "Deduplication": the last 1000
 * successful ones of a connection.)
 */
export class RecentIds {
  readonly #capacity: number
  readonly #known = new Set<bigint>()
  readonly #ring: bigint[] = []
  #oldest = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  has(id: bigint): boolean {
    return this.#known.has(id)
  }

  /** Remembers an id that is not known yet, and forgets the oldest for it if need be. */
  add(id: bigint): void {
    const forgotten = this.#ring[this.#oldest]
    if (this.#ring.length === this.#capacity && forgotten !== undefined) this.#known.delete(forgotten)
    this.#ring[this.#oldest] = id
    this.#oldest = (this.#oldest + 1) % this.#capacity
    this.#known.add(id)
  }
}
