import { AsyncSubject, firstValueFrom, Observable, type Subscriber, Subscription, type TeardownLogic } from 'rxjs'

/**
 * A request with one result, as an observable that can be awaited. The first subscription or `await` sends the request,
 * once. Every subscriber and every `await` of the same object, including later ones, gets the same result. Creating the
 * object sends nothing. To send again, create another request: `defer(() => group.send(21))`.
 *
 * If the last subscriber unsubscribes before the result, the request is cancelled. After that, and after an error, the
 * next subscription sends again, so `retry` works. An `await` cannot be cancelled, and all `await`s settle with the
 * first outcome. `pipe` returns a plain observable.
 *
 * @example
 * ```ts
 * const { duplicate } = await line.send(21)
 * readings$.pipe(concatMap(reading => line.send(reading))).subscribe()
 * ```
 */
export class Awaitable<T> extends Observable<T> implements PromiseLike<T> {
  #promise: Promise<T> | undefined = undefined

  /** @param send - sends the request; called once per attempt, with the subscriber of its result */
  constructor(send: (subscriber: Subscriber<T>) => TeardownLogic) {
    super(shareAttempt(new Observable(send)))
  }

  // These are getters, so that they have exactly the types of a promise's methods.

  /** Sends the request if it was not sent yet, and settles with its result. */
  // biome-ignore lint/suspicious/noThenProperty: a request can be awaited
  get then(): Promise<T>['then'] {
    return (fulfilled, rejected) => this.#settled().then(fulfilled, rejected)
  }

  /** Sends the request like {@link then}, with a handler for errors only. */
  get catch(): Promise<T>['catch'] {
    return rejected => this.#settled().catch(rejected)
  }

  /** Sends the request like {@link then}, with a handler for any outcome. */
  get finally(): Promise<T>['finally'] {
    return settled => this.#settled().finally(settled)
  }

  #settled(): Promise<T> {
    this.#promise ??= firstValueFrom(this)
    return this.#promise
  }
}

class Attempt<T> extends AsyncSubject<T> {
  readonly subscription = new Subscription()
}

/** Shares one subscription to the source among all subscribers, until the source fails or all subscribers have left. */
function shareAttempt<T>(source: Observable<T>): (subscriber: Subscriber<T>) => void {
  let current: Attempt<T> | undefined
  return subscriber => {
    const running = current
    const attempt = running ?? new Attempt<T>()
    current = attempt
    const forget = (): void => {
      if (current === attempt) current = undefined
    }
    attempt.subscribe(subscriber)
    subscriber.add(() => {
      if (attempt.subscription.closed || attempt.observed) return
      forget()
      attempt.subscription.unsubscribe()
    })
    if (running) return
    const sent = source.subscribe({
      next: result => attempt.next(result),
      error: error => {
        // Forgets the attempt first, because a subscriber may send again synchronously.
        forget()
        attempt.error(error)
      },
      complete: () => {
        attempt.subscription.unsubscribe()
        attempt.complete()
      },
    })
    attempt.subscription.add(sent)
  }
}

/**
 * A request to the store with one result, as an observable that can be awaited. The first subscription or `await` sends
 * the request, once. Every subscriber and every `await` of the same object, including later ones, gets the same result.
 * Creating the object sends nothing. To send again, create another request: `defer(() => key.get()).pipe(repeat({
 * delay: 1000 }))`.
 *
 * If the last subscriber unsubscribes before the result, the request is cancelled. After that, and after an error, the
 * next subscription sends again, so `retry` works. `pipe` returns a plain observable.
 *
 * Invalid arguments are errors of the request, so that `catchError` and `catch` see them. `for await` requires a
 * continuing source, such as a {@link Key}, and rejects a request.
 *
 * @example
 * ```ts
 * const { version } = await setPoint.set(21.5)
 * slider$.pipe(switchMap(value => setPoint.set(value))).subscribe()
 * ```
 */
export class StoreRequest<T> extends Awaitable<T> {
  /** @param make - creates the request; called once per attempt, and an error that it throws is the attempt's error */
  constructor(make: () => Observable<T>) {
    super(subscriber => make().subscribe(subscriber))
  }
}
