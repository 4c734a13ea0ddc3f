import { AsyncSubject, firstValueFrom, Observable, type Subscriber, Subscription, type TeardownLogic } from 'rxjs'

/**
 * One request and its one result, as an observable that can be awaited as well. It is sent by the first subscription or
 * `await`, and once: every subscriber and every `await` of the same object gets the same result, later ones too. Alone it
 * does nothing. To send again, make another request: `defer(() => group.send(21))`.
 *
 * Unsubscribing the last subscriber before the result gives up. After that, and after an error, the next subscription
 * sends again: `retry` works. An `await` cannot be given up, and all of them settle with the first outcome. What `pipe`
 * returns is a plain observable.
 *
 * @example
 * ```ts
 * const { duplicate } = await line.send(21)
 * readings$.pipe(concatMap(reading => line.send(reading))).subscribe()
 * ```
 */
export class Awaitable<T> extends Observable<T> implements PromiseLike<T> {
  #promise: Promise<T> | undefined = undefined

  /** @param send - sends the request; called once for each attempt, with the subscriber of its result */
  constructor(send: (subscriber: Subscriber<T>) => TeardownLogic) {
    super(once(new Observable(send)))
  }

  // Getters, so that they have the very types of a promise's methods.

  /** Sends the request unless it was sent, and settles with its result. */
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
    this.#promise ??= firstValueFrom(this)
    return this.#promise
  }
}

/** A request that was sent, and its result for all subscribers. */
class Attempt<T> extends AsyncSubject<T> {
  /** Closed when there is a result, and when nobody waits for one. */
  readonly sending = new Subscription()
}

/** Subscribes to the source once for all its subscribers, until it has failed or all of them have left. */
function once<T>(source: Observable<T>): (subscriber: Subscriber<T>) => void {
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
      if (attempt.sending.closed || attempt.observed) return
      forget()
      attempt.sending.unsubscribe()
    })
    if (running) return
    const sent = source.subscribe({
      next: result => attempt.next(result),
      error: error => {
        // First, for a subscriber may send again at once.
        forget()
        attempt.error(error)
      },
      complete: () => {
        attempt.sending.unsubscribe()
        attempt.complete()
      },
    })
    attempt.sending.add(sent)
  }
}

/**
 * One request to the store, and its one result: an observable that can be awaited as well. It is sent by the first
 * subscription or `await`, and once: every subscriber and every `await` of the same object gets the same result, later
 * ones too. Alone it does nothing. To send again, make another request: `defer(() => key.get()).pipe(repeat({ delay: 1000 }))`.
 *
 * Unsubscribing the last subscriber before the result gives up. After that, and after an error, the next subscription
 * sends again: `retry` works. What `pipe` returns is a plain observable.
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
  /** @param make - called once for each attempt; what it throws is the error of that */
  constructor(make: () => Observable<T>) {
    super(subscriber => make().subscribe(subscriber))
  }
}
