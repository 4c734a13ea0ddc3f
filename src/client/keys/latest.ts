import type { Observable, Subscription } from 'rxjs'
import { AbortError } from '../../core/util/errors.js'

interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
}

const DONE: IteratorResult<never, undefined> = { done: true, value: undefined }

/**
 * Iterates an observable of states with `for await`. Subscribes on the first `next` and unsubscribes when the loop exits.
 * Buffers only the newest value: a slow loop skips intermediate states, but never the last one.
 */
export class LatestIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: Observable<T>
  readonly #waiters: Waiter<T>[] = []
  #subscription: Subscription | undefined
  #newest: { readonly value: T } | undefined
  #failure: { readonly error: unknown } | undefined
  #isEnded = false

  constructor(source: Observable<T>) {
    this.#source = source
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Resolves with the newest value not yet returned. Rejects once if the observable errors. */
  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      if (!this.#subscription && !this.#isEnded) this.#subscribe()
      this.#settleWaiters()
    })
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#newest = undefined
    this.#failure = undefined
    this.#subscription?.unsubscribe()
    this.#end()
    return DONE
  }

  #subscribe(): void {
    this.#subscription = this.#source.subscribe({
      next: value => {
        this.#newest = { value }
        this.#settleWaiters()
      },
      error: error => {
        this.#failure = { error }
        // An aborted loop must not receive the buffered value.
        if (error instanceof AbortError) this.#newest = undefined
        this.#end()
      },
      complete: () => this.#end(),
    })
  }

  #end(): void {
    this.#isEnded = true
    this.#settleWaiters()
  }

  #settleWaiters(): void {
    while (this.#newest || this.#isEnded) {
      const waiter = this.#waiters.shift()
      if (waiter === undefined) return
      this.#settle(waiter)
    }
  }

  #settle({ resolve, reject }: Waiter<T>): void {
    const newest = this.#newest
    const failure = this.#failure
    if (newest) {
      this.#newest = undefined
      resolve({ done: false, value: newest.value })
    } else if (failure) {
      this.#failure = undefined
      reject(failure.error)
    } else resolve(DONE)
  }
}
