import { firstValueFrom, Observable } from 'rxjs'

/**
 * A cold observable of one result that can be awaited as well, which subscribes once, however often the same one is
 * awaited; what is neither subscribed nor awaited does nothing. What `pipe` makes of it is a plain observable. The promise
 * cannot be called off; unsubscribing calls off a subscription of one's own.
 *
 * @example
 * ```ts
 * const { duplicate } = await line.send(21)
 * readings$.pipe(concatMap(reading => line.send(reading))).subscribe()
 * ```
 */
export class Awaitable<T> extends Observable<T> implements PromiseLike<T> {
  #result: Promise<T> | undefined = undefined

  // Getters, so that they have the very types of a promise's methods.

  /** Subscribes unless that was done to await it, and settles with the result. */
  // biome-ignore lint/suspicious/noThenProperty: it is there to be awaited
  get then(): Promise<T>['then'] {
    return (fulfilled, rejected) => this.#settled().then(fulfilled, rejected)
  }

  /** The same as {@link then} without its first argument. */
  get catch(): Promise<T>['catch'] {
    return rejected => this.#settled().catch(rejected)
  }

  /** As the method of a promise. */
  get finally(): Promise<T>['finally'] {
    return settled => this.#settled().finally(settled)
  }

  #settled(): Promise<T> {
    this.#result ??= firstValueFrom(this)
    return this.#result
  }
}
