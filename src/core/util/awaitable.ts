import {
  AsyncSubject,
  defer,
  lastValueFrom,
  Observable,
  type OperatorFunction,
  type Subscriber,
  Subscription,
  type TeardownLogic,
} from 'rxjs'
import { afterAwait } from './clock.js'
import type { StateStoreError } from './errors.js'

/**
 * An observable that can be awaited: `await` subscribes, once, and settles with the last value. All `await`s of the same
 * object settle with the first outcome. `pipe` returns an awaitable as well, so `await key.set(21).pipe(retry(2))` does
 * what it says.
 *
 * @example
 * ```ts
 * const { duplicate } = await line.send(21)
 * readings$.pipe(concatMap(reading => line.send(reading))).subscribe()
 * ```
 */
export class Awaitable<T, E = never> extends Observable<T> implements PromiseLike<T | E> {
  readonly #config: { readonly defaultValue: E } | undefined
  #promise: Promise<T | E> | undefined = undefined

  /** @param config - the result of an `await` if the observable completes without a value, which otherwise rejects */
  constructor(subscribe: (subscriber: Subscriber<T>) => TeardownLogic, config?: { readonly defaultValue: E }) {
    super(subscribe)
    this.#config = config
  }

  // These are getters, so that they have exactly the types of a promise's methods.

  /** Subscribes if nothing was awaited yet, and settles with the last value. */
  // biome-ignore lint/suspicious/noThenProperty: an awaitable can be awaited
  get then(): Promise<T | E>['then'] {
    return (fulfilled, rejected) => this.#settled().then(fulfilled, rejected)
  }

  /** Works like {@link then}, with a handler for errors only. */
  get catch(): Promise<T | E>['catch'] {
    return rejected => this.#settled().catch(rejected)
  }

  /** Works like {@link then}, with a handler for any outcome. */
  get finally(): Promise<T | E>['finally'] {
    return settled => this.#settled().finally(settled)
  }

  override pipe(): Awaitable<T>
  override pipe<A>(a: OperatorFunction<T, A>): Awaitable<A>
  override pipe<A, B>(a: OperatorFunction<T, A>, b: OperatorFunction<A, B>): Awaitable<B>
  override pipe<A, B, C>(a: OperatorFunction<T, A>, b: OperatorFunction<A, B>, c: OperatorFunction<B, C>): Awaitable<C>
  override pipe<A, B, C, D>(
    a: OperatorFunction<T, A>,
    b: OperatorFunction<A, B>,
    c: OperatorFunction<B, C>,
    d: OperatorFunction<C, D>,
  ): Awaitable<D>
  override pipe<A, B, C, D, F>(
    a: OperatorFunction<T, A>,
    b: OperatorFunction<A, B>,
    c: OperatorFunction<B, C>,
    d: OperatorFunction<C, D>,
    f: OperatorFunction<D, F>,
    ...others: OperatorFunction<F, F>[]
  ): Awaitable<F>
  override pipe(...operators: readonly OperatorFunction<never, unknown>[]): unknown {
    const piped: unknown = Reflect.apply(super.pipe, this, operators)
    return piped instanceof Observable ? new Awaitable(subscriber => piped.subscribe(subscriber)) : piped
  }

  /** Returns what an `await` subscribes to. */
  protected outcome(): Observable<T> {
    return this
  }

  #settled(): Promise<T | E> {
    this.#promise ??= this.#config ? lastValueFrom(this.outcome(), this.#config) : lastValueFrom(this.outcome())
    return this.#promise
  }
}

/** The result of an `await` of an operator whose source had no items. */
export const NO_ITEM = { defaultValue: undefined }

/**
 * A request with one result, as an observable that can be awaited. A write is sent at once, by the call. A read is sent by
 * the first subscription or `await`. To send a write later, call later: `defer(() => key.set(21))`.
 *
 * The first subscription gets the result of the write that the call has sent, even if it comes after the result.
 * Subscriptions while a request is in flight share it. Any later subscription sends again, so that `retry`, `repeat` and a
 * request in a field work. An `await` sends again only after a cancellation. The error of a write that nothing subscribes
 * to or awaits is reported on `errors$`.
 *
 * If the last subscriber unsubscribes before the result, the request is cancelled: a write that has not left the client
 * is not sent. An `await` cannot be cancelled.
 *
 * Invalid arguments are errors of the request, so that `catchError` and `catch` see them. `for await` requires a
 * continuing source, such as a {@link Key}, and rejects a request.
 *
 * @example
 * ```ts
 * button.onclick = () => void setPoint.set(21.5)
 * const { version } = await setPoint.set(21.5)
 * slider$.pipe(switchMap(value => setPoint.set(value))).subscribe()
 * ```
 */
export class StoreRequest<T> extends Awaitable<T> {
  readonly #attempts: Attempts<T>

  /**
   * @param make - creates the request; called once per attempt, and an error that it throws is the attempt's error
   * @param report - for a write, which is sent at once: receives the error of the write if nothing observes the write
   */
  constructor(make: () => Observable<T>, report?: (error: StateStoreError) => void) {
    const attempts = new SharedAttempts(make)
    super(subscriber => attempts.join(subscriber))
    this.#attempts = attempts
    if (report) attempts.start(report)
  }

  /** The latest attempt, even after its end, because an `await` must not send again. */
  protected override outcome(): Observable<T> {
    return new Observable(subscriber => this.#attempts.joinLatest(subscriber))
  }
}

/** An interface, because the fields of the class would make requests and keys invariant in their type. */
interface Attempts<T> {
  joinLatest(subscriber: Subscriber<T>): void
}

class Attempt<T> extends AsyncSubject<T> {
  readonly subscription = new Subscription()
  isEnded = false
  /** Whether anything has subscribed to it or awaits it. */
  isObserved = false
}

class SharedAttempts<T> implements Attempts<T> {
  readonly #make: () => Observable<T>
  /** The attempt that is in flight, or that has ended without an observer. */
  #current: Attempt<T> | undefined
  #latest: Attempt<T> | undefined

  constructor(make: () => Observable<T>) {
    this.#make = make
  }

  start(report: (error: StateStoreError) => void): void {
    this.#run(this.#begin(), report)
  }

  join(subscriber: Subscriber<T>): void {
    this.#observe(this.#current, subscriber)
  }

  joinLatest(subscriber: Subscriber<T>): void {
    this.#observe(this.#latest, subscriber)
  }

  #observe(known: Attempt<T> | undefined, subscriber: Subscriber<T>): void {
    const attempt = known ?? this.#begin()
    attempt.isObserved = true
    if (attempt.isEnded) this.#forget(attempt)
    attempt.subscribe(subscriber)
    subscriber.add(() => {
      if (attempt.isEnded || attempt.observed) return
      this.#forget(attempt)
      this.#latest = undefined
      attempt.subscription.unsubscribe()
    })
    if (known === undefined) this.#run(attempt)
  }

  #begin(): Attempt<T> {
    const attempt = new Attempt<T>()
    this.#current = attempt
    this.#latest = attempt
    return attempt
  }

  #run(attempt: Attempt<T>, report?: (error: StateStoreError) => void): void {
    // Forgets the attempt first, because an observer may send again synchronously.
    const end = (): void => {
      attempt.isEnded = true
      if (attempt.isObserved) this.#forget(attempt)
    }
    const running = defer(this.#make).subscribe({
      next: result => attempt.next(result),
      error: error => {
        end()
        attempt.error(error)
        if (report)
          afterAwait(() => {
            if (!attempt.isObserved) report(error)
          })
      },
      complete: () => {
        end()
        attempt.complete()
      },
    })
    attempt.subscription.add(running)
  }

  #forget(attempt: Attempt<T>): void {
    if (this.#current === attempt) this.#current = undefined
  }
}
