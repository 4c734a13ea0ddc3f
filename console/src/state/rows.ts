import { bytes, type Entry, type StateStore } from 'rx-statestore'
import {
  auditTime,
  catchError,
  EMPTY,
  exhaustMap,
  map,
  merge,
  Observable,
  type Subscription,
  share,
  shareReplay,
  switchMap,
  tap,
  timeout,
  withLatestFrom,
} from 'rxjs'
import { type Api, POLL_TIMEOUT_MS } from '../api/api.js'
import { type ListedKey, libraryKey } from '../model/listed-key.js'
import { type Row, RowCache } from './row-cache.js'

export interface RowSources {
  readonly store$: Observable<StateStore>
  readonly api: Pick<Api, 'keys'>
  readonly keys$: Observable<readonly ListedKey[]>
  readonly tick$: Observable<unknown>
  /** Returns the time of the store's clock, ms. */
  readonly now: () => number
}

/** Minimum interval between renderings, and minimum delay between requests for facts, ms. */
const RENDER_MS = 80
const FACTS_DELAY_MS = 250

/** Emits the rows of the displayed keys, with watched entries and with facts that the protocol lacks. */
export function watchRows({
  store$,
  api,
  keys$: visible$,
  tick$,
  now,
}: RowSources): Observable<ReadonlyMap<string, Row>> {
  const cache = new RowCache()
  // A row must exist before its first entry arrives.
  const keys$ = visible$.pipe(
    tap(keys => cache.makeRoomFor(keys)),
    shareReplay({ bufferSize: 1, refCount: true }),
  )
  const entries$ = store$.pipe(
    switchMap(store => entriesOf(store, keys$)),
    tap(({ id, entry }) => cache.setEntry(id, entry, now())),
    share(),
  )
  const facts$ = merge(tick$, merge(keys$, entries$).pipe(auditTime(FACTS_DELAY_MS))).pipe(
    withLatestFrom(keys$),
    exhaustMap(([, keys]) => fetchFacts(api, keys)),
    tap(({ ids, facts }) => cache.setFacts(ids, facts)),
  )
  return merge(keys$, entries$, facts$).pipe(
    auditTime(RENDER_MS),
    map(() => cache.rows),
  )
}

const fetchFacts = (api: Pick<Api, 'keys'>, keys: readonly ListedKey[]) => {
  const ids = keys.map(({ id }) => id)
  if (ids.length === 0) return EMPTY
  return api.keys(ids).pipe(
    timeout(POLL_TIMEOUT_MS),
    map(answer => ({ ids, facts: answer.keys })),
    // The health reports an unreachable server; the next tick retries.
    catchError(() => EMPTY),
  )
}

/** Emits the entries of keys. Each key has its own watch, because the page may not be allowed to read all of them. */
const entriesOf = (store: StateStore, keys$: Observable<readonly ListedKey[]>) =>
  new Observable<{ readonly id: string; readonly entry: Entry<Uint8Array> }>(subscriber => {
    const watches = new Map<string, Subscription>()
    const watch = (key: ListedKey): Subscription =>
      store.key(libraryKey(key), bytes).entries$.subscribe({
        next: entry => subscriber.next({ id: key.id, entry }),
        // A watch ends with its connection, which the health reports, or for lack of rights, which the open key shows.
        error: () => undefined,
      })
    subscriber.add(
      keys$.subscribe(keys => {
        const wanted = new Map(keys.map(key => [key.id, key]))
        for (const [id, subscription] of watches) {
          if (wanted.has(id)) continue
          subscription.unsubscribe()
          watches.delete(id)
        }
        for (const [id, key] of wanted) if (!watches.has(id)) watches.set(id, watch(key))
      }),
    )
    subscriber.add(() => {
      for (const subscription of watches.values()) subscription.unsubscribe()
    })
  })
