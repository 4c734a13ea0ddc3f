import {
  defer,
  Observable,
  type ObservableInput,
  type ObservedValueOf,
  type Subscriber,
  Subscription,
  type Unsubscribable,
} from 'rxjs'
import { checkFunction } from '../check.js'
import type { Hlc } from '../hlc/hlc.js'
import type { LeaseState } from './lease-state.js'

/** Options of {@link withLock}. */
export interface LockOptions {
  /** Wait for the lock again and start the work anew when it was lost, instead of an error. Default `false`. */
  readonly resume?: boolean
}

/**
 * Does the work while the lease is held: subscribes to it with the fencing token, and unsubscribes the moment the lease
 * is lost. Then it errors with `lease-lost`, or, with `resume`, waits for the lease again. When the work completes or
 * errors, so does this, and the lease is given back. Cold; errors as the lease does, and with `lease-lost` when the client
 * is closed while the work goes on.
 *
 * What cannot be unsubscribed goes on without the lock: a promise, and so an `async` function, as work has to look by
 * itself.
 *
 * @example
 * ```ts
 * const lease = store.lease('line-1', { duration: 10_000 })
 * withLock(lease, token => recipe$.pipe(set(fenced(store, token).key('line-1\\recipe', text)))).subscribe()
 * ```
 */
export function withLock<O extends ObservableInput<unknown>>(
  lease: Observable<LeaseState>,
  work: (token: Hlc) => O,
  { resume = false }: LockOptions = {},
): Observable<ObservedValueOf<O>> {
  checkFunction('work', work)
  return new Observable(subscriber => {
    const work$ = new Work(subscriber, work)
    // Before the lease, so that the work has stopped when the lease is given back.
    subscriber.add(work$)
    const holding = lease.subscribe({
      next: state => {
        if (subscriber.closed) return
        try {
          if (state.status === 'held') work$.begin(state.token)
          else work$.stop()
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
}

/** The work of one holding after the other. */
class Work<O extends ObservableInput<unknown>> implements Unsubscribable {
  readonly #subscriber: Subscriber<ObservedValueOf<O>>
  readonly #work: (token: Hlc) => O
  #token: Hlc | undefined
  #running = new Subscription()

  constructor(subscriber: Subscriber<ObservedValueOf<O>>, work: (token: Hlc) => O) {
    this.#subscriber = subscriber
    this.#work = work
  }

  /** A renewal is no new holding: its token is the same. */
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
    this.#running = new Subscription()
    this.#running.add(
      defer(() => this.#work(token)).subscribe({
        next: value => this.#subscriber.next(value),
        error: error => this.#subscriber.error(error),
        complete: () => this.#subscriber.complete(),
      }),
    )
  }

  stop(): void {
    this.#token = undefined
    this.#running.unsubscribe()
  }

  unsubscribe(): void {
    this.stop()
  }
}
