import {
  catchError,
  concat,
  defer,
  EMPTY,
  expand,
  ignoreElements,
  Observable,
  repeat,
  retry,
  tap,
  throwError,
} from 'rxjs'
import { backoff } from '../base/backoff.js'
import type { ErrorCode, StateStoreError } from '../base/errors.js'
import type { Hlc } from '../hlc/hlc.js'
import { isLasting } from '../keys/lasting.js'
import type { RegistryOptions } from '../keys/registry-options.js'

/** What comes of asking a store for the keys of a glob. */
export interface GlobEvents {
  /** The store tells of all keys; the last version it had given by then, if it says so. */
  registered(position: Hlc | undefined): void
  /** The store does not tell of keys by a glob: it said so, or it said nothing of use, and may do so all the same. */
  foreign(said: boolean): void
  found(keys: readonly Uint8Array[]): void
  /** All pages of a scan came. */
  listed(): void
  /** It is tried again. */
  report(error: StateStoreError): void
  /** ms from one scan to the next, where that is how new keys are found. */
  scanInterval(): number
}

/** What a store answers that does not know the request; ours when it has no room for it. */
const FOREIGN: readonly ErrorCode[] = ['unknown-command', 'syntax-error', 'wrong-argument-count', 'quota-exceeded']
/** So often a request is sent to a store that says nothing of use; then it is one that does not know it. */
const MOST_ATTEMPTS = 3

/**
 * Asks for the keys of a glob on a connection: registers for it, and then scans what is there; where the store has no such
 * registration it scans again and again. Never emits; errors when a later attempt cannot succeed.
 */
export function globFlow(
  glob: Uint8Array,
  { store, timeout, clock, verifyEvery }: RegistryOptions,
  events: GlobEvents,
): Observable<never> {
  const pause = (ms: number): Observable<undefined> =>
    new Observable(subscriber => clock.schedule(ms, () => subscriber.next(undefined)))
  const again = (error: StateStoreError, attempt: number, isOver: boolean): Observable<undefined> => {
    if (isOver || isLasting(error)) return throwError(() => error)
    events.report(error)
    return pause(backoff(attempt))
  }
  let isForeign = false
  const register$ = defer(() => store.notifyGlob(glob, false, timeout)).pipe(
    tap(position => events.registered(position)),
    retry({
      delay: (error, attempt) => again(error, attempt, FOREIGN.includes(error.code) || attempt >= MOST_ATTEMPTS),
    }),
    catchError(error => {
      if (isLasting(error)) return throwError(() => error)
      if (error.code !== 'unknown-command') events.report(error)
      isForeign = true
      events.foreign(FOREIGN.includes(error.code))
      return EMPTY
    }),
  )
  const list$ = defer(() => store.scan(glob, undefined, timeout)).pipe(
    expand(({ token }) => (token === undefined ? EMPTY : store.scan(glob, token, timeout))),
    tap({ next: ({ keys }) => events.found(keys), complete: () => events.listed() }),
    retry({
      resetOnSuccess: true,
      // A store that was started anew does not know its token; one that cannot read the glob never will.
      delay: (error, attempt) =>
        again(error, attempt, error.code === 'unknown-command' || (error.code === 'syntax-error' && attempt > 1)),
    }),
    repeat({ delay: () => (isForeign ? pause(events.scanInterval()) : EMPTY) }),
  )
  // A store at a broker of somebody else may have gone and come without a word.
  const verify = (): Observable<unknown> => (verifyEvery > 0 && !isForeign ? pause(verifyEvery) : EMPTY)
  return concat(register$, list$).pipe(ignoreElements(), repeat({ delay: verify }))
}
