import type { Observable, Subscription } from 'rxjs'
import { AbortError } from '../../core/util/errors.js'

interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
}

const DONE: IteratorResult<never, undefined> = { done: true, value: undefined }

/**
 * An observable of states for a `for await` loop. It is subscribed when the loop first asks, and unsubscribed when the
 * loop is left. It holds one value at most, the newest: what comes while the loop is busy takes the place of what it has
 * not taken. So a slow loop misses steps, but never the last one.
 */
export class Latest<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: Observable<T>
  readonly #waiters: Waiter<T>[] = []
  #subscription: Subscription | undefined
  #newest: { readonly value: T } | undefined
  #failure: { readonly error: unknown } | undefined
  #ended = false

  constructor(source: Observable<T>) {
    this.#source = source
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The newest value that was not taken yet, as soon as there is one. Rejects, once, with what the observable errors with. */
  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      if (!this.#subscription && !this.#ended) this.#subscribe()
      this.#serve()
    })
  }

  /** What a loop calls that is left before the end. */
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
        this.#serve()
      },
      error: error => {
        this.#failure = { error }
        // Who aborts wants no more.
        if (error instanceof AbortError) this.#newest = undefined
        this.#end()
      },
      complete: () => this.#end(),
    })
  }

  #end(): void {
    this.#ended = true
    this.#serve()
  }

  #serve(): void {
    while (this.#newest || this.#ended) {
      const waiter = this.#waiters.shift()
      if (waiter === undefined) return
      this.#answer(waiter)
    }
  }

  #answer({ resolve, reject }: Waiter<T>): void {
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
