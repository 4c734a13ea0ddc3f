import {
  catchError,
  defer,
  EMPTY,
  expand,
  ignoreElements,
  map,
  Observable,
  of,
  repeat,
  retry,
  startWith,
  switchMap,
  tap,
  throwError,
} from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { backoff } from '../../core/util/backoff.js'
import type { ErrorCode, StateStoreError } from '../../core/util/errors.js'
import { isPermanentError } from '../watch/permanent-errors.js'
import type { RegistryOptions } from '../watch/shared-registration.js'

/** What comes of asking a store for the keys of a glob. */
interface GlobEvents {
  /** The store tells of all keys; the last version it had given by then, if it says so. */
  registered(position: Hlc | undefined): void
  /** The store does not tell of keys by a glob, for now or at all. @param isUnheard - and it took no request for it */
  foreign(isUnheard: boolean): void
  found(keys: readonly Uint8Array[]): void
  /** All pages of a scan came. */
  listed(): void
  /** It is tried again. */
  report(error: StateStoreError): void
  /** ms from one scan to the next, where that is how new keys are found. */
  scanInterval(): number
}

/** What a store answers that does not know the request. */
const FOREIGN: readonly ErrorCode[] = ['unknown-command', 'syntax-error', 'wrong-argument-count']
/** So often a request is sent to a store that says nothing of use; then it is scanned, and asked on beside that. */
const MOST_ATTEMPTS = 3

/** What came of a registration. */
type Answer = 'told' | 'refused' | 'silent'

/**
 * Asks for the keys of a glob on a connection: registers for it, and then scans what is there; where the store has no such
 * registration, or says nothing of use for now, it scans again and again. Never emits; errors when a later attempt cannot succeed.
 */
export function registerGlob(
  glob: Uint8Array,
  { store, timeout, clock, verifyEvery }: RegistryOptions,
  events: GlobEvents,
): Observable<never> {
  const pause = (ms: number): Observable<undefined> =>
    new Observable(subscriber =>
      clock.schedule(ms, () => {
        subscriber.next(undefined)
        subscriber.complete()
      }),
    )
  const again = (error: StateStoreError, attempt: number, isOver: boolean): Observable<undefined> => {
    if (isOver || isPermanentError(error)) return throwError(() => error)
    events.report(error)
    return pause(backoff(attempt))
  }
  let isUnheard = true
  const ask = (isPatient: boolean): Observable<Answer> =>
    defer(() => store.notifyGlob(glob, false, timeout)).pipe(
      map((position): Answer => {
        isUnheard = false
        events.registered(position)
        return 'told'
      }),
      retry({
        delay: (error, attempt) => {
          const isFull = error.code === 'quota-exceeded'
          isUnheard &&= isFull || FOREIGN.includes(error.code)
          const isEnough = !isPatient && (isFull || attempt >= MOST_ATTEMPTS)
          return again(error, attempt, isEnough || FOREIGN.includes(error.code))
        },
      }),
      catchError(error => {
        if (isPermanentError(error)) return throwError(() => error)
        if (error.code !== 'unknown-command') events.report(error)
        const isOver = FOREIGN.includes(error.code)
        events.foreign(isOver && isUnheard)
        return of<Answer>(isOver ? 'refused' : 'silent')
      }),
    )
  // A store whose answers were late or lost knows the request, and one that is full may have room later.
  const askOn$ = pause(backoff(MOST_ATTEMPTS)).pipe(switchMap(() => ask(true)))
  const list$ = defer(() => store.scan(glob, undefined, timeout)).pipe(
    expand(({ token }) => (token === undefined ? EMPTY : store.scan(glob, token, timeout))),
    tap({ next: ({ keys }) => events.found(keys), complete: () => events.listed() }),
    retry({
      resetOnSuccess: true,
      // A store that was started anew does not know its token; one that cannot read the glob never will.
      delay: (error, attempt) =>
        again(error, attempt, error.code === 'unknown-command' || (error.code === 'syntax-error' && attempt > 1)),
    }),
  )
  const scans$ = list$.pipe(repeat({ delay: () => pause(events.scanInterval()) }))
  // A store at a broker of somebody else may have gone and come without a word.
  const verify = (): Observable<unknown> => (verifyEvery > 0 ? pause(verifyEvery) : EMPTY)
  return ask(false).pipe(
    switchMap(answer => (answer === 'silent' ? askOn$.pipe(startWith(answer)) : of(answer))),
    switchMap(answer => (answer === 'told' ? list$ : scans$)),
    ignoreElements(),
    repeat({ delay: verify }),
  )
}
