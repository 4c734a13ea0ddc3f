import { bytes, type Entry, type StateStore } from 'rx-statestore'
import {
  auditTime,
  catchError,
  EMPTY,
  exhaustMap,
  map,
  merge,
  type Observable,
  share,
  shareReplay,
  switchMap,
  tap,
  withLatestFrom,
} from 'rxjs'
import type { Api } from '../api/api.js'
import { type ListedKey, nameFor } from '../model/listed-key.js'
import { type Row, RowCache } from './row-book.js'

/** What the rows are made of. */
export interface RowSources {
  readonly store$: Observable<StateStore>
  readonly api: Pick<Api, 'keys'>
  /** The keys to be seen. */
  readonly keys$: Observable<readonly ListedKey[]>
  /** When to ask again for what the protocol does not carry. */
  readonly tick$: Observable<unknown>
  /** The store's clock, ms. */
  readonly now: () => number
}

/** How often the page is painted anew at most, and facts are asked for at most, ms. */
const FRAME = 80
const FACTS_PAUSE = 250

/** The rows of the keys to be seen: their entries, watched, and what the protocol does not carry, asked for. */
export function watchRows({
  store$,
  api,
  keys$: visible$,
  tick$,
  now,
}: RowSources): Observable<ReadonlyMap<string, Row>> {
  const book = new RowCache()
  // There is a place for a key before anything can be heard of it.
  const keys$ = visible$.pipe(
    tap(keys => book.keep(keys)),
    shareReplay({ bufferSize: 1, refCount: true }),
  )
  const heard$ = store$.pipe(
    switchMap(store => entriesOf(store, keys$)),
    tap(({ id, entry }) => book.heard(id, entry, now())),
    share(),
  )
  const facts$ = merge(tick$, merge(keys$, heard$).pipe(auditTime(FACTS_PAUSE))).pipe(
    withLatestFrom(keys$),
    exhaustMap(([, keys]) => factsOf(api, keys)),
    tap(({ asked, facts }) => book.learnt(asked, facts)),
  )
  return merge(keys$, heard$, facts$).pipe(
    auditTime(FRAME),
    map(() => book.rows),
  )
}

const factsOf = (api: Pick<Api, 'keys'>, keys: readonly ListedKey[]) => {
  const asked = keys.map(({ id }) => id)
  if (asked.length === 0) return EMPTY
  return api.keys(asked).pipe(
    map(answer => ({ asked, facts: answer.keys })),
    // A server that is away is told of elsewhere; it is asked again at the next tick.
    catchError(() => EMPTY),
  )
}

/** Names tell text from binary only among their own: a text may look like the name of a binary key. */
function entriesOf(store: StateStore, keys$: Observable<readonly ListedKey[]>) {
  const watched = (binary: boolean): Observable<{ id: string; entry: Entry<Uint8Array> }> => {
    let ids = new Map<string, string>()
    const names$ = keys$.pipe(
      map(keys => keys.filter(key => key.binary === binary)),
      tap(keys => {
        ids = new Map(keys.map(({ name, id }) => [name, id]))
      }),
      map(keys => keys.map(nameFor)),
    )
    return store.watchAll(names$, bytes).pipe(
      map(entry => ({ id: ids.get(entry.key) ?? '', entry })),
      // Watches end with their connection, and the health says why.
      catchError(() => EMPTY),
    )
  }
  return merge(watched(false), watched(true))
}
