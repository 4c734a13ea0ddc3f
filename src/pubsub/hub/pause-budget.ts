/** With fewer names it is not looked for those to forget. */
const FEW = 1_024

interface Spent {
  /** ms, at that time */
  amount: number
  at: number
}

/**
 * How much time each of many may cost others: an amount at once, and later a part of the time that passes.
 *
 * @example
 * ```ts
 * const budget = new PauseBudget(30_000, 1 / 4)
 * budget.charge('ann', 30_000, now)
 * budget.isSpent('ann', now) // true, and four seconds later there is one again
 * ```
 */
export class PauseBudget {
  readonly #most: number
  readonly #forgiven: number
  readonly #spent = new Map<string, Spent>()
  #sweepAt = FEW

  /**
   * @param most - ms
   * @param forgiven - the part of the time by which it is forgiven
   */
  constructor(most: number, forgiven: number) {
    this.#most = most
    this.#forgiven = forgiven
  }

  isSpent(name: string, now: number): boolean {
    return this.#left(name, now) >= this.#most
  }

  charge(name: string, amount: number, now: number): void {
    if (this.#spent.size >= this.#sweepAt) this.#sweep(now)
    this.#spent.set(name, { amount: this.#left(name, now) + amount, at: now })
  }

  #left(name: string, now: number): number {
    const spent = this.#spent.get(name)
    return spent === undefined ? 0 : Math.max(0, spent.amount - (now - spent.at) * this.#forgiven)
  }

  #sweep(now: number): void {
    for (const name of this.#spent.keys()) if (this.#left(name, now) === 0) this.#spent.delete(name)
    this.#sweepAt = Math.max(FEW, 2 * this.#spent.size)
  }
}
