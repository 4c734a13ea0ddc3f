import type { Subscription } from 'rxjs'
import { Fifo } from '../../core/util/fifo.js'

interface Turn<K> {
  readonly owner: K
  readonly start: () => Subscription
}

/**
 * Lets at most `limit` requests be under way at a time; the others wait for their turn in the order they came, one per
 * owner, of which the newest counts.
 */
export class RequestWindow<K> {
  readonly #limit: number
  readonly #line = new Fifo<Turn<K>>()
  /** The turn each owner waits for; another one in the line has been given up. */
  readonly #waiting = new Map<K, Turn<K>>()
  #active = 0
  #starting = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Starts a request when it is its turn; the turn ends with the subscription it returns. */
  take(owner: K, start: () => Subscription): void {
    const turn = { owner, start }
    this.#waiting.set(owner, turn)
    this.#line.push(turn)
    this.#next()
  }

  /** Gives up a turn that has not come. */
  leave(owner: K): void {
    this.#waiting.delete(owner)
  }

  clear(): void {
    this.#waiting.clear()
    this.#line.clear()
  }

  // A request that ends at once calls this again from within; the loop that runs sees the turn it frees.
  #next(): void {
    if (this.#starting) return
    this.#starting = true
    while (this.#active < this.#limit) {
      const turn = this.#line.shift()
      if (turn === undefined) break
      if (this.#waiting.get(turn.owner) === turn) this.#start(turn)
    }
    this.#starting = false
  }

  #start({ owner, start }: Turn<K>): void {
    this.#waiting.delete(owner)
    this.#active++
    start().add(() => {
      this.#active--
      this.#next()
    })
  }
}
