import { bytes, type Freshness, type StateStore } from 'rx-statestore'
import { auditTime, catchError, combineLatest, defer, EMPTY, map, type Observable, startWith, switchMap } from 'rxjs'
import { type ListedKey, nameFor } from '../model/listed-key.js'
import { History, type Seen, UNSEEN } from './history.js'

/** What was seen of the open key. */
export interface Detail {
  readonly seen: Seen
  readonly freshness: Freshness
}

/** Nothing yet. */
export const UNREAD: Detail = { seen: UNSEEN, freshness: { state: 'connecting' } }

/** How often it is painted anew at most, ms. */
const FRAME = 80

/**
 * Watches a key; the history begins with the subscription and lives through reconnects.
 *
 * @param now - the store's clock, ms
 */
export const watchDetail = (store$: Observable<StateStore>, key: ListedKey, now: () => number): Observable<Detail> =>
  defer(() => {
    const history = new History()
    return store$.pipe(
      switchMap(store => {
        const { entries$, freshness$ } = store.key(nameFor(key), bytes)
        const seen$ = entries$.pipe(
          map(entry => history.add(entry, now())),
          auditTime(FRAME),
          map(() => history.seen),
          startWith(history.seen),
        )
        // Watches end with their connection, and the health says why.
        return combineLatest([seen$, freshness$]).pipe(catchError(() => EMPTY))
      }),
      map(([seen, freshness]) => ({ seen, freshness })),
    )
  })
