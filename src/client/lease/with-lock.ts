import {
  defer,
  isObservable,
  Observable,
  type ObservableInput,
  type ObservedValueOf,
  type Subscriber,
  Subscription,
  type Unsubscribable,
} from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { checkFunction, checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { AbortError, ArgumentError, formatValue, type StateStoreError } from '../../core/util/errors.js'
import { Key } from '../keys/key.js'
import { type AbortOptions, abortable, checkSignal } from '../keys/options.js'
import type { LeaseState } from './lease-state.js'

/** Options of {@link withLock}. */
export interface LockOptions extends AbortOptions {
  /** Wait for the lock again and start the work anew when it was lost, instead of an error. Default `false`. */
  readonly resume?: boolean | undefined
}

const LOCK_NAMES: OptionNames<LockOptions> = { signal: true, resume: true }

/**
 * Does the work while the lease is held: subscribes to it with the fencing token, and unsubscribes the moment the lease
 * is lost. Then it errors with `lease-lost`, or, with `resume`, waits for the lease again. When the work completes or
 * errors, so does this, and the lease is given back. Cold; errors as the lease does, and with `lease-lost` when the client
 * is closed while the work goes on.
 *
 * What cannot be unsubscribed, a promise, is told by the signal: it is aborted the moment the work has to stop, with the
 * loss as its reason, or with `aborted` when its result is not wanted any more. An `async` function that neither passes
 * it on nor looks at it goes on without the lock.
 *
 * @example
 * ```ts
 * const line = lease(store, 'line-1', { duration: 10_000 })
 * withLock(line, token => recipe$.pipe(set(fenced(store, token).key('line-1\\recipe', text)))).subscribe()
 * await lastValueFrom(withLock(line, (token, signal) => fetch(`/recipe?token=${token}`, { signal })))
 * ```
 */
export function withLock<O extends ObservableInput<unknown>>(
  lease: Observable<LeaseState>,
  work: (token: Hlc, signal: AbortSignal) => O,
  options: LockOptions = {},
): Observable<ObservedValueOf<O>> {
  if (!isObservable(lease)) {
    const got = Object(lease) instanceof Key ? 'a key' : `\`${formatValue(lease)}\``
    throw new ArgumentError(`Expected a lease, such as \`lease(store, name, { duration: 10_000 })\`, got ${got}`)
  }
  checkFunction('work', work)
  checkOptionNames('withLock', options, LOCK_NAMES)
  const { resume = false, signal } = options
  checkSignal(signal)
  const locked$ = new Observable<ObservedValueOf<O>>(subscriber => {
    const work$ = new Work(subscriber, work)
    // Before the lease, so that the work has stopped when the lease is given back.
    subscriber.add(work$)
    const holding = lease.subscribe({
      next: state => {
        if (subscriber.closed) return
        try {
          if (state.status === 'held') work$.begin(state.token)
          else work$.stop(state.status === 'lost' ? state.cause : undefined)
        } finally {
          // Also when the work's own teardown throws, which RxJS reports.
          if (state.status === 'lost' && !resume) subscriber.error(state.cause)
        }
      },
      error: error => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(holding)
  })
  return abortable(locked$, signal)
}

/** The work of one holding after the other. */
class Work<O extends ObservableInput<unknown>> implements Unsubscribable {
  readonly #subscriber: Subscriber<ObservedValueOf<O>>
  readonly #work: (token: Hlc, signal: AbortSignal) => O
  #token: Hlc | undefined
  #running = new Subscription()
  #aborter: AbortController | undefined

  constructor(subscriber: Subscriber<ObservedValueOf<O>>, work: (token: Hlc, signal: AbortSignal) => O) {
    this.#subscriber = subscriber
    this.#work = work
  }

  /** A renewal does not begin a new holding: its token stays the same. */
  begin(token: Hlc): void {
    if (this.#token === token) return
    try {
      this.stop()
    } finally {
      this.#start(token)
    }
  }

  #start(token: Hlc): void {
    this.#token = token
    const aborter = new AbortController()
    this.#aborter = aborter
    const running = new Subscription()
    this.#running = running
    const running$ = new Observable<ObservedValueOf<O>>(worker => {
      // First, for what the work emits at once may make it stop.
      running.add(worker)
      defer(() => this.#work(token, aborter.signal)).subscribe(worker)
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

  /** Work that ended by itself is not told to stop. */
  stop(cause: StateStoreError = new AbortError('nobody waits for the work any more')): void {
    const aborter = this.#aborter
    this.#aborter = undefined
    this.#token = undefined
    try {
      this.#running.unsubscribe()
    } finally {
      // Afterwards, for a failure that the signal caused is not a result.
      aborter?.abort(cause)
    }
  }

  unsubscribe(): void {
    this.stop()
  }
}
