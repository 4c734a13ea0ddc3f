/**
 * Counts what there is of something of which there may only be so much.
 *
 * @example
 * ```ts
 * if (!subscriptions.take()) refuse()
 * ```
 */
export class Tally {
  readonly most: number
  #used = 0
  #refused = 0

  /** @param most - `Infinity` for any number */
  constructor(most: number) {
    this.most = most
  }

  /** How much there is. */
  get used(): number {
    return this.#used
  }

  /** How often there was no room. */
  get refused(): number {
    return this.#refused
  }

  /** Whether there is no room for more. */
  get full(): boolean {
    return this.#used >= this.most
  }

  /** Takes some, if there is as much room; returns whether there was. */
  take(amount = 1): boolean {
    if (this.#used + amount > this.most) {
      this.refuse()
      return false
    }
    this.#used += amount
    return true
  }

  /** Counts what is there already, or, negative, is gone. */
  count(amount: number): void {
    this.#used += amount
  }

  /** Gives some back. */
  give(amount = 1): void {
    this.#used -= amount
  }

  /** Counts a refusal for want of room. */
  refuse(): void {
    this.#refused++
  }
}
