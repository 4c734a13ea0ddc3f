import { defer, Observable, retry, Subject, Subscription, takeUntil, throwError } from 'rxjs'
import { backoff } from '../../core/util/backoff.js'
import { toHex } from '../../core/util/bytes.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { RegistryOptions } from '../watch/cover.js'
import { isLasting } from '../watch/lasting.js'
import { MOST_STOPS } from '../watch/watch-requests.js'

/**
 * Ends the registrations of globs, and asks again for what is not answered: {@link MOST_STOPS} times at most.
 *
 * @example
 * ```ts
 * stops.stop(utf8('sensor/*'))
 * stops.callOff(toHex(utf8('sensor/*'))) // somebody watches it again
 * ```
 */
export class GlobStops {
  readonly #options: RegistryOptions
  readonly #report: (error: StateStoreError) => void
  readonly #stops = new Map<string, Subscription>()
  readonly #over$ = new Subject<void>()
  #isOver = false

  constructor(options: RegistryOptions, report: (error: StateStoreError) => void) {
    this.#options = options
    this.#report = report
  }

  /** Ends the registration for a glob. */
  stop(glob: Uint8Array): void {
    const { store, timeout, clock } = this.#options
    const id = toHex(glob)
    const pause = (ms: number): Observable<undefined> =>
      new Observable(subscriber => clock.schedule(ms, () => subscriber.next(undefined)))
    const stop = defer(() => store.notifyGlob(glob, true, timeout)).pipe(
      retry({
        delay: (error, attempt) => {
          if (this.#isOver || isLasting(error) || attempt === MOST_STOPS) return throwError(() => error)
          this.#report(error)
          return pause(backoff(attempt)).pipe(takeUntil(this.#over$))
        },
      }),
    )
    this.callOff(id)
    const subscription = new Subscription()
    subscription.add(() => {
      if (this.#stops.get(id) === subscription) this.#stops.delete(id)
    })
    // First, for who is told that it failed at once may watch the glob again, and call it off.
    this.#stops.set(id, subscription)
    subscription.add(
      stop.subscribe({
        error: error => {
          subscription.unsubscribe()
          // With the client all of its registrations end.
          if (!this.#isOver) this.#report(error)
        },
        complete: () => subscription.unsubscribe(),
      }),
    )
  }

  /** What is watched again must not be ended by an attempt from before. @param id - of the glob, in hex */
  callOff(id: string): void {
    this.#stops.get(id)?.unsubscribe()
  }

  /** Nobody will be there for an answer: what is asked from now on is asked once. */
  close(): void {
    this.#isOver = true
    this.#over$.next()
  }

  /** It is another connection, or none: no registration of before is left. */
  clear(): void {
    this.#isOver = false
    // What is called off tells nobody.
    for (const stop of this.#stops.values()) stop.unsubscribe()
  }
}
