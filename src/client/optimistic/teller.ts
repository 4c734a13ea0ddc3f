import { Subject, type Subscriber, type Subscription } from 'rxjs'

/**
 * Tells states. A listener may cause the next state while it is told of one; all hear of them in their order.
 */
export class Teller<S> {
  readonly #states = new Subject<S>()
  readonly #latest: () => S
  #told: S | undefined
  #isTelling = false

  constructor(latest: () => S) {
    this.#latest = latest
  }

  /** Tells the latest, and what follows. */
  listen(subscriber: Subscriber<S>): Subscription {
    this.tell()
    const first = this.#latest()
    subscriber.next(first)
    const listening = this.#states.subscribe(subscriber)
    // It may have caused another one by then.
    const latest = this.#latest()
    if (latest !== first) subscriber.next(latest)
    return listening
  }

  /** Tells the latest, if it is another one. */
  tell(): void {
    if (this.#isTelling) return
    this.#isTelling = true
    for (let state = this.#latest(); state !== this.#told; state = this.#latest()) {
      this.#told = state
      this.#states.next(state)
    }
    this.#isTelling = false
  }

  error(error: unknown): void {
    this.#states.error(error)
  }

  complete(): void {
    this.#states.complete()
  }
}
