import { bytes, type Freshness, type StateStore } from 'rx-statestore'
import { auditTime, catchError, combineLatest, defer, EMPTY, map, type Observable, startWith, switchMap } from 'rxjs'
import { type ListedKey, libraryKey } from '../model/listed-key.js'
import { EMPTY_HISTORY, HistoryRecorder, type KeyHistory } from './history.js'

export interface Detail {
  readonly history: KeyHistory
  readonly freshness: Freshness
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
        // A watch ends with its connection; the health reports the cause.
        return combineLatest([history$, freshness$]).pipe(catchError(() => EMPTY))
      }),
      map(([history, freshness]) => ({ history, freshness })),
    )
  })
