import type { Subscription } from 'rxjs'

/**
 * Lets at most `limit` requests be under way at a time; the others wait for their turn in the order they came, one per
 * owner, of which the newest counts.
 */
export class Turns<K> {
  readonly #limit: number
  readonly #waiting = new Map<K, () => Subscription>()
  #active = 0
  #starting = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Starts a request when it is its turn; the turn ends with the subscription it returns. */
  take(owner: K, start: () => Subscription): void {
    this.#waiting.delete(owner)
    this.#waiting.set(owner, start)
    this.#next()
  }

  /** Gives up a turn that has not come. */
  leave(owner: K): void {
    this.#waiting.delete(owner)
  }

  clear(): void {
    this.#waiting.clear()
  }

  // A request that ends at once calls this again from within; the loop that runs sees the turn it frees.
  #next(): void {
    if (this.#starting) return
    this.#starting = true
    for (const [owner, start] of this.#waiting) {
      if (this.#active >= this.#limit) break
      this.#waiting.delete(owner)
      this.#active++
      start().add(() => {
        this.#active--
        this.#next()
      })
    }
    this.#starting = false
  }
}
