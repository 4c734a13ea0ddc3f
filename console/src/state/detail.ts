import { bytes, type Freshness, type StateStore, StateStoreError } from 'rx-statestore'
import {
  auditTime,
  catchError,
  combineLatest,
  defer,
  EMPTY,
  map,
  type Observable,
  of,
  startWith,
  switchMap,
} from 'rxjs'
import { type ListedKey, libraryKey } from '../model/listed-key.js'
import { EMPTY_HISTORY, HistoryRecorder, type KeyHistory } from './history.js'
import type { Health } from './store-health.js'

export interface Detail {
  readonly history: KeyHistory
  /** `refused` if the page may not read the key. */
  readonly freshness: Freshness | { readonly state: 'refused' }
}

export const EMPTY_DETAIL: Detail = { history: EMPTY_HISTORY, freshness: { state: 'connecting' } }

const RENDER_MS = 80

/**
 * Watches a key. The history starts with the subscription and survives reconnects.
 *
 * @param now - returns the time of the store's clock, ms
 * @param expiryOf - returns the expiry of the last known value
 */
export const watchDetail = (
  store$: Observable<StateStore>,
  key: ListedKey,
  now: () => number,
  expiryOf: () => number | undefined,
): Observable<Detail> =>
  defer(() => {
    const recorder = new HistoryRecorder()
    return store$.pipe(
      switchMap(store => {
        const { entries$, freshness$ } = store.key(libraryKey(key), bytes)
        const history$ = entries$.pipe(
          map(entry => recorder.add(entry, now(), expiryOf())),
          auditTime(RENDER_MS),
          map(() => recorder.current),
          startWith(recorder.current),
        )
        return combineLatest({ history: history$, freshness: freshness$ }).pipe(
          catchError((cause: unknown): Observable<Detail> => {
            // Other watches end with their connection, and the health reports the cause.
            if (!isNotAuthorized(cause)) return EMPTY
            return of({ history: recorder.current, freshness: { state: 'refused' } })
          }),
        )
      }),
    )
  })

const isNotAuthorized = (cause: unknown): boolean => cause instanceof StateStoreError && cause.code === 'not-authorized'

/**
 * Returns the freshness to display. Only the health knows whether the store is frozen, and since when a key is stale that
 * was never read.
 */
export function shownFreshness(freshness: Detail['freshness'], health: Health): Detail['freshness'] | Health {
  if (freshness.state === 'refused' || health.state === 'live') return freshness
  return health.state === 'frozen' || freshness.state !== 'stale' ? health : freshness
}
