import {
  defer,
  from,
  type InteropObservable,
  Observable,
  type ObservableInput,
  type ObservedValueOf,
  observable,
  type Subscriber,
  Subscription,
  type Unsubscribable,
} from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { Awaitable, NO_ITEM } from '../../core/util/awaitable.js'
import { checkFunction, checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { AbortError, ArgumentError, formatValue, type StateStoreError } from '../../core/util/errors.js'
import { Key } from '../keys/key.js'
import { type AbortOptions, abortable, checkSignal } from '../keys/options.js'
import type { LeaseState } from './lease-state.js'

/** Options of {@link withLock}. */
export interface LockOptions extends AbortOptions {
  /** When the lock is lost, waits for it and restarts the work instead of erroring. Default `false`. */
  readonly resume?: boolean | undefined
}

const LOCK_NAMES: OptionNames<LockOptions> = { signal: true, resume: true }

/**
 * Runs the work while the lease is held: calls `work` with the fencing token, subscribes to its result, and
 * unsubscribes when the lease is lost. The result then errors with `lease-lost` or, with `resume`, waits for the lease
 * again. When the work ends, the result ends in the same way, and the lease is released. Cold: nothing happens before
 * the first subscription or `await`, which settles with the last value of the work. Errors as the lease does, and with
 * `lease-lost` when the client is closed during the work.
 *
 * A promise cannot be unsubscribed, so `work` also receives a signal. It is aborted when the work must stop; its reason is
 * the loss, or `aborted` when the caller unsubscribed. An `async` function that ignores the signal continues without the
 * lock.
 *
 * @example
 * ```ts
 * const line = lease(store, 'line-1', { duration: 10_000 })
 * withLock(line, token =>
 *   recipe$.pipe(set(fenced(store, token).key('line-1\\recipe', text))),
 * ).subscribe()
 * await withLock(line, (token, signal) =>
 *   fetch(`/recipe?token=${token}`, { signal }),
 * )
 * const shown$ = line.pipe(tap(({ status }) => show(status)))
 * withLock(shown$, token =>
 *   recipe$.pipe(set(fenced(store, token).key('line-1\\recipe', text))),
 * ).subscribe()
 * ```
 */
export function withLock<O extends ObservableInput<unknown>>(
  lease: Observable<LeaseState> | InteropObservable<LeaseState>,
  work: (token: Hlc, signal: AbortSignal) => O,
  options: LockOptions = {},
): Awaitable<ObservedValueOf<O>, undefined> {
  const isKey = lease instanceof Key
  if (isKey || typeof Reflect.get(Object(lease), observable) !== 'function') {
    const got = isKey ? 'a key' : `\`${formatValue(lease)}\``
    throw new ArgumentError(`Expected a lease, such as \`lease(store, name, { duration: 10_000 })\`, got ${got}`)
  }
  checkFunction('work', work)
  checkOptionNames('withLock', options, LOCK_NAMES)
  const { resume = false, signal } = options
  checkSignal(signal)
  const locked$ = new Observable<ObservedValueOf<O>>(subscriber => {
    const work$ = new Work(subscriber, work)
    // Added before the lease, so that the work stops before the lease is released.
    subscriber.add(work$)
    const holding = from(lease).subscribe({
      next: state => {
        if (subscriber.closed) return
        try {
          if (state.status === 'held') work$.begin(state.token)
          else work$.stop(state.status === 'lost' ? state.cause : undefined)
        } finally {
          // Errors even if the teardown of the work throws, which RxJS reports.
          if (state.status === 'lost' && !resume) subscriber.error(state.cause)
        }
      },
      error: error => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(holding)
  })
  return new Awaitable(subscriber => abortable(locked$, signal).subscribe(subscriber), NO_ITEM)
}

class Work<O extends ObservableInput<unknown>> implements Unsubscribable {
  readonly #subscriber: Subscriber<ObservedValueOf<O>>
  readonly #work: (token: Hlc, signal: AbortSignal) => O
  #currentToken: Hlc | undefined
  #running = new Subscription()
  #aborter: AbortController | undefined

  constructor(subscriber: Subscriber<ObservedValueOf<O>>, work: (token: Hlc, signal: AbortSignal) => O) {
    this.#subscriber = subscriber
    this.#work = work
  }

  begin(token: Hlc): void {
    if (this.#currentToken === token) return
    try {
      this.stop()
    } finally {
      this.#start(token)
    }
  }

  #start(token: Hlc): void {
    this.#currentToken = token
    const aborter = new AbortController()
    this.#aborter = aborter
    const running = new Subscription()
    this.#running = running
    const running$ = new Observable<ObservedValueOf<O>>(worker => {
      // Added first, because a value that the work emits synchronously may stop it.
      running.add(worker)
      defer(() => resultOf(this.#work(token, aborter.signal))).subscribe(worker)
    })
    running$.subscribe({
      next: value => this.#subscriber.next(value),
      error: error => {
        this.#aborter = undefined
        this.#subscriber.error(error)
      },
      complete: () => {
        this.#aborter = undefined
        this.#subscriber.complete()
      },
    })
  }

  /** Aborts the signal, unless the work has ended. */
  stop(cause: StateStoreError = new AbortError('the caller unsubscribed')): void {
    const aborter = this.#aborter
    this.#aborter = undefined
    this.#currentToken = undefined
    try {
      this.#running.unsubscribe()
    } finally {
      // Aborts after unsubscribing, so that an error caused by the abort is not emitted.
      aborter?.abort(cause)
    }
  }

  unsubscribe(): void {
    this.stop()
  }
}

/** Throws {@link ArgumentError} if the work returns nothing, because its end would then be unknown. */
function resultOf<O>(result: O): O {
  if (result !== undefined && result !== null) return result
  throw new ArgumentError(
    'Expected `work` of withLock to return an observable or a promise, got nothing: return the work, or make `work` async',
  )
}
