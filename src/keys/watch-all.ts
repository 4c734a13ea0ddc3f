import { Observable, type Subscriber, Subscription } from 'rxjs'
import type { Entry } from './entry.js'
import type { Key } from './key.js'

/**
 * Entries of a changing set of keys in one stream. Every value of the source is the whole set. Completes when the source
 * has and no watch is left, errors with the source or with any watch.
 */
export const watchAll = <T>(keys$: Observable<readonly Key<T>[]>): Observable<Entry<T>> =>
  new Observable<Entry<T>>(subscriber => {
    const watches = new Watches(subscriber)
    subscriber.add(watches.all)
    subscriber.add(
      keys$.subscribe({
        next: keys => watches.set(keys),
        error: error => subscriber.error(error),
        complete: () => watches.sourceCompleted(),
      }),
    )
  })

class Watches<T> {
  readonly all = new Subscription()
  readonly #subscriber: Subscriber<Entry<T>>
  readonly #byId = new Map<string, Subscription>()
  #completed = false

  constructor(subscriber: Subscriber<Entry<T>>) {
    this.#subscriber = subscriber
  }

  set(keys: readonly Key<T>[]): void {
    const wanted = new Map(keys.map(key => [key.id, key]))
    for (const [id, watch] of this.#byId) if (!wanted.has(id)) this.#leave(id, watch)
    for (const [id, key] of wanted) if (!this.#byId.has(id) && !this.#subscriber.closed) this.#join(id, key)
  }

  sourceCompleted(): void {
    this.#completed = true
    this.#completeIfDone()
  }

  #join(id: string, key: Key<T>): void {
    const watch = new Subscription()
    this.#byId.set(id, watch)
    this.all.add(watch)
    watch.add(
      key.entries$.subscribe({
        next: entry => this.#subscriber.next(entry),
        error: error => this.#subscriber.error(error),
        complete: () => {
          this.#leave(id, watch)
          this.#completeIfDone()
        },
      }),
    )
  }

  #leave(id: string, watch: Subscription): void {
    this.#byId.delete(id)
    this.all.remove(watch)
    watch.unsubscribe()
  }

  #completeIfDone(): void {
    if (this.#completed && this.#byId.size === 0) this.#subscriber.complete()
  }
}
