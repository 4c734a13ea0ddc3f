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
  readonly #short: () => void
  #used = 0

  /**
   * @param limit - bytes
   * @param short - called, while it is used, whenever there was not enough
   */
  constructor(limit: number, short: () => void = () => undefined) {
    this.limit = limit
    this.#short = short
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
    if (this.#used + bytes > this.limit) {
      this.#short()
      return false
    }
    this.#used += bytes
    return true
  }

  /** Counts bytes that are taken already, or, negative, given back. */
  count(bytes: number): void {
    this.#used += bytes
    if (bytes > 0 && this.exceeded) this.#short()
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    this.#used -= bytes
  }
}
