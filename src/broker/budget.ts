/**
 * Memory that all clients of a broker share, in bytes: what waits to be sent or acknowledged, what is retained, packets
 * that are not complete. It is an account, not an allocator: who asks for more than there is has to do without.
 *
 * @example
 * ```ts
 * const budget = new Budget(1_000_000)
 * if (!budget.take(payload.length)) refuse()
 * ```
 */
export class Budget {
  /** Bytes there are. */
  readonly limit: number
  #used = 0

  /** @param limit - bytes */
  constructor(limit: number) {
    this.limit = limit
  }

  /** Bytes that are taken. */
  get used(): number {
    return this.#used
  }

  /** Whether more is taken than there is. */
  get exceeded(): boolean {
    return this.#used > this.limit
  }

  /** Takes bytes if there are as many. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) return false
    this.#used += bytes
    return true
  }

  /** Counts bytes that are taken already, or, negative, given back. */
  count(bytes: number): void {
    this.#used += bytes
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    this.#used -= bytes
  }
}
