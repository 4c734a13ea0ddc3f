import { Refusal } from './refusal.js'

/** So many at a time, and no more. */
export class Seats {
  readonly #what: string
  readonly #most: number
  #taken = 0

  constructor(what: string, most: number) {
    this.#what = what
    this.#most = most
  }

  /** Runs a task when there is a seat; raises {@link Refusal} when there is none. */
  async during<T>(task: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#most) throw new Refusal(503, 'busy', `At most ${this.#most} ${this.#what} at a time`)
    this.#taken++
    try {
      return await task()
    } finally {
      this.#taken--
    }
  }
}
