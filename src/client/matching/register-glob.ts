import {
  catchError,
  defer,
  EMPTY,
  expand,
  ignoreElements,
  map,
  type Observable,
  of,
  repeat,
  startWith,
  switchMap,
  tap,
  throwError,
} from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import { backoff } from '../../core/util/backoff.js'
import type { ErrorCode, StateStoreError } from '../../core/util/errors.js'
import { isPermanentError } from '../../core/util/transient-errors.js'
import { after } from '../requests/after.js'
import { retryWithBackoff } from '../watch/retry-with-backoff.js'
import type { RegistryOptions } from '../watch/shared-registration.js'

interface GlobEvents {
  /**
   * Called when the store notifies of all keys. @param position - the store's last version at registration, if it sends
   * one
   */
  registered(position: Hlc | undefined): void
  /**
   * Called when the store does not notify by globs, for now or ever. @param isUnknown - whether it can have no
   * registration
   */
  unsupported(isUnknown: boolean): void
  found(keys: readonly Uint8Array[]): void
  listed(): void
  report(error: StateStoreError): void
  /** Returns the time between scans, ms, for a store that does not notify by globs. */
  scanInterval(): number
}

const UNSUPPORTED: readonly ErrorCode[] = ['unknown-command', 'syntax-error', 'wrong-argument-count']
/** Number of failed attempts before the store is scanned, while the registration is retried in parallel. */
const MAX_ATTEMPTS = 3

type RegistrationResult = 'registered' | 'unsupported' | 'unanswered'

/**
 * Finds a glob's keys on a connection: registers the glob, then scans the existing keys. Scans periodically while
 * the store does not support or confirm the registration. Never emits; errors when no retry can succeed.
 */
export function registerGlob(
  glob: Uint8Array,
  { store, timeout, clock, verifyEvery }: RegistryOptions,
  events: GlobEvents,
): Observable<never> {
  const report = (error: StateStoreError): void => events.report(error)
  let isUnknown = true
  const register = (retriesForever: boolean): Observable<RegistrationResult> =>
    defer(() => store.notifyGlob(glob, false, timeout)).pipe(
      map((position): RegistrationResult => {
        isUnknown = false
        events.registered(position)
        return 'registered'
      }),
      retryWithBackoff(clock, report, ({ code }, attempt) => {
        const [isFull, isUnsupported] = [code === 'quota-exceeded', UNSUPPORTED.includes(code)]
        isUnknown &&= isFull || isUnsupported
        return isUnsupported || (!retriesForever && (isFull || attempt >= MAX_ATTEMPTS))
      }),
      catchError(error => {
        if (isPermanentError(error)) return throwError(() => error)
        if (error.code !== 'unknown-command') events.report(error)
        const isFinal = UNSUPPORTED.includes(error.code)
        events.unsupported(isFinal && isUnknown)
        return of<RegistrationResult>(isFinal ? 'unsupported' : 'unanswered')
      }),
    )
  // A lost response does not mean that the request is unsupported, and a full store may have room later.
  const registerLater$ = after(backoff(MAX_ATTEMPTS), clock).pipe(switchMap(() => register(true)))
  const scan$ = defer(() => store.scan(glob, undefined, timeout)).pipe(
    expand(({ token }) => (token === undefined ? EMPTY : store.scan(glob, token, timeout))),
    tap({ next: ({ keys }) => events.found(keys), complete: () => events.listed() }),
    // After a restart the store does not know the token; the second `syntax-error` concerns the glob itself.
    retryWithBackoff(
      clock,
      report,
      ({ code }, attempt) => code === 'unknown-command' || (code === 'syntax-error' && attempt > 1),
    ),
  )
  const scans$ = scan$.pipe(repeat({ delay: () => after(events.scanInterval(), clock) }))
  // An attached store may restart without closing this connection.
  const verify = (): Observable<unknown> => (verifyEvery > 0 ? after(verifyEvery, clock) : EMPTY)
  return register(false).pipe(
    switchMap(result => (result === 'unanswered' ? registerLater$.pipe(startWith(result)) : of(result))),
    switchMap(result => (result === 'registered' ? scan$ : scans$)),
    ignoreElements(),
    repeat({ delay: verify }),
  )
}
