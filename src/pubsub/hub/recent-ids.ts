const FIRST_CAPACITY = 16

/**
 * The latest so many ids, to recognise one that comes again. (Client specification, "Deduplication": the last 1000
 * successful ones of a connection.) Takes 8 bytes for each. Clients count their ids, so that almost all are higher than
 * any before and need not be searched for.
 */
export class RecentIds {
  readonly #capacity: number
  /** Unsigned 64-bit integers; grows up to the capacity. */
  #ring: BigUint64Array
  #count = 0
  #next = 0
  #highest = -1n

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#ring = new BigUint64Array(Math.min(FIRST_CAPACITY, capacity))
  }

  has(id: bigint): boolean {
    return id <= this.#highest && this.#ring.subarray(0, this.#count).includes(id)
  }

  /** Remembers an id that is not known yet, and forgets the oldest for it if need be. */
  add(id: bigint): void {
    if (this.#count === this.#ring.length && this.#count < this.#capacity) this.#grow()
    this.#ring[this.#next] = id
    this.#next = (this.#next + 1) % this.#capacity
    this.#count = Math.min(this.#count + 1, this.#capacity)
    if (id > this.#highest) this.#highest = id
  }

  #grow(): void {
    const ring = new BigUint64Array(Math.min(2 * this.#ring.length, this.#capacity))
    ring.set(this.#ring)
    this.#ring = ring
  }
}
