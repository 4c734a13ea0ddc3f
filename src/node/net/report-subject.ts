import { config, Observable, type Observer, type Operator, Subject, Subscriber, type Subscription } from 'rxjs'
import { reportSubscriberError } from '../../core/diagnostics/subscriber-error.js'
import { afterIo } from '../../core/util/clock.js'

/** The maximum reports per event-loop turn; further ones are only counted. */
const MAX_PENDING = 1_000

/**
 * Emits reports about a server to the application, in a turn of their own. The code that reports a fault may have used
 * up its stack or be half done, and a subscriber that throws must not end the server.
 *
 * @example
 * ```ts
 * const faults$ = new ReportSubject<unknown>(
 *   count => new Error(`${count} faults were dropped`),
 * )
 * this.faults$ = faults$.asObservable()
 * ```
 */
export class ReportSubject<T> extends Subject<T> {
  readonly #describeDropped: (count: number) => T
  #pending: T[] = []
  #droppedCount = 0
  #isCompleting = false

  /** @param describeDropped - returns the report that stands for reports that were dropped */
  constructor(describeDropped: (count: number) => T) {
    super()
    this.#describeDropped = describeDropped
  }

  override next(report: T): void {
    if (!this.observed || this.#isCompleting) return
    if (this.#pending.length >= MAX_PENDING) {
      this.#droppedCount++
      return
    }
    this.#pending.push(report)
    if (this.#pending.length === 1) afterIo(this.#deliver)
  }

  /** Completes after the pending reports. */
  override complete(): void {
    this.#isCompleting = true
    if (this.#pending.length === 0) super.complete()
  }

  override asObservable(): Observable<T> {
    return guard(this)
  }

  readonly #deliver = (): void => {
    const pending = this.#pending
    if (this.#droppedCount > 0) pending.push(this.#describeDropped(this.#droppedCount))
    this.#pending = []
    this.#droppedCount = 0
    for (const report of pending) super.next(report)
    if (this.#isCompleting && this.#pending.length === 0) super.complete()
  }
}

/** Returns an observable with the same events, whose subscribers may throw without an uncaught error. */
export const guard = <T>(source: Observable<T>): Observable<T> =>
  new GuardedObservable(subscriber => source.subscribe(subscriber))

class GuardedObservable<T> extends Observable<T> {
  /** Guards the results of operators, because the subscribers of a pipeline subscribe to its last operator. */
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    return guard(super.lift(operator))
  }

  override subscribe(
    observerOrNext?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // An operator passes errors on to its own subscriber.
    if (observerOrNext instanceof Subscriber) return super.subscribe(observerOrNext)
    const observer: Partial<Observer<T>> =
      typeof observerOrNext === 'function'
        ? { next: observerOrNext, ...(error && { error }), ...(complete && { complete }) }
        : (observerOrNext ?? { ...(error && { error }), ...(complete && { complete }) })
    return super.subscribe({
      next: value => call(() => observer.next?.(value)),
      error: cause => (observer.error ? call(() => observer.error?.(cause)) : reportUnhandled(cause)),
      complete: () => call(() => observer.complete?.()),
    })
  }
}

function call(subscriber: () => void): void {
  try {
    subscriber()
  } catch (error) {
    reportUnhandled(error)
  }
}

/** Reports an error of a subscriber to the handler that the application may have given to RxJS. */
function reportUnhandled(error: unknown): void {
  const { onUnhandledError } = config
  if (onUnhandledError === null) reportSubscriberError(error)
  else afterIo(() => onUnhandledError(error))
}
