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

/**
 * One request to the store, and its one result. It is a cold observable: nothing is sent before somebody subscribes, every
 * subscription sends a request of its own, and unsubscribing gives up. It can be awaited as well, which subscribes once,
 * however often the same one is awaited; what is neither subscribed nor awaited does nothing. What `pipe` makes of it is a
 * plain observable.
 *
 * Wrong arguments are errors of the request, like all others, so that `catchError` and `catch` see them. `for await` needs
 * something that goes on, such as a {@link Key}, and refuses a request.
 *
 * @example
 * ```ts
 * const { version } = await setPoint.set(21.5)
 * slider$.pipe(switchMap(value => setPoint.set(value))).subscribe()
 * ```
 */
export class StoreRequest<T> extends Awaitable<T> {
  /** @param make - called on every subscription; what it throws is the error of that */
  constructor(make: () => Observable<T>) {
    super(subscriber => make().subscribe(subscriber))
  }
}
