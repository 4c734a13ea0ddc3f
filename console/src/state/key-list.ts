import {
  auditTime,
  catchError,
  combineLatest,
  concat,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  first,
  map,
  type Observable,
  of,
  repeat,
  switchMap,
  take,
  tap,
  timer,
} from 'rxjs'
import { describeError, type ErrorText } from '../model/error-text.js'
import { type ListedKey, sortByName, toListedKey } from '../model/listed-key.js'

export interface KeyList {
  readonly glob: string
  /** The state is `listing` until the first list is complete. */
  readonly state: 'listing' | 'listed' | 'failed'
  readonly keys: readonly ListedKey[]
  /**
   * Whether more keys match than are shown. They may sort anywhere, because the store lists keys in no particular
   * order.
   */
  readonly more: boolean
  readonly problem?: ErrorText
}

export interface Scannable {
  scan(glob: string): Observable<{ readonly id: string }>
}

/** Number of keys that are loaded initially and with each "Load more", because the store may have a million. */
export const KEY_PAGE_SIZE = 2_000

/** Interval of updates during a listing, and delay after a failure, ms. */
const PROGRESS_MS = 150
const RETRY_MS = 1_000

/**
 * Lists the keys that match the glob, at most `maxKeys$`, and lists again when `maxKeys$` or `keyspace$` changes. The
 * previous list stays until the new one is complete.
 */
export const listKeys = (
  store$: Observable<Scannable>,
  glob$: Observable<string>,
  keyspace$: Observable<string>,
  maxKeys$: Observable<number> = of(KEY_PAGE_SIZE),
): Observable<KeyList> =>
  store$.pipe(
    switchMap(store =>
      glob$.pipe(
        distinctUntilChanged(),
        switchMap(glob => keepListing(store, glob, keyspace$, maxKeys$)),
      ),
    ),
  )

function keepListing(
  store: Scannable,
  glob: string,
  keyspace$: Observable<string>,
  maxKeys$: Observable<number>,
): Observable<KeyList> {
  let hasListed = false
  let hasFailed = false
  let listedKeyspace = ''
  let listedMax = KEY_PAGE_SIZE
  const listOnce = combineLatest([keyspace$, maxKeys$]).pipe(
    take(1),
    switchMap(([keyspace, maxKeys]) => {
      listedKeyspace = keyspace
      listedMax = maxKeys
      hasFailed = false
      return scanKeys(store, glob, maxKeys)
    }),
    filter(({ state }) => state === 'listed' || !hasListed),
    tap(({ state }) => {
      hasListed ||= state === 'listed'
    }),
    catchError((cause: unknown) => {
      hasFailed = true
      const problem = describeError(cause)
      return hasListed ? EMPTY : of<KeyList>({ glob, state: 'failed', keys: [], more: false, problem })
    }),
  )
  const nextTrigger = (): Observable<unknown> =>
    hasFailed
      ? timer(RETRY_MS)
      : combineLatest([keyspace$, maxKeys$]).pipe(
          first(([keyspace, maxKeys]) => keyspace !== listedKeyspace || maxKeys !== listedMax),
        )
  return listOnce.pipe(repeat({ delay: nextTrigger }))
}

const scanKeys = (store: Scannable, glob: string, maxKeys: number): Observable<KeyList> =>
  defer(() => {
    const found: ListedKey[] = []
    const list = (state: KeyList['state']): KeyList => {
      const more = found.length > maxKeys
      return { glob, state, keys: sortByName(found.slice(0, maxKeys)), more }
    }
    const progress$ = store.scan(glob).pipe(
      take(maxKeys + 1),
      tap(({ id }) => found.push(toListedKey(id))),
      auditTime(PROGRESS_MS),
      map(() => list('listing')),
    )
    return concat(
      progress$,
      defer(() => of(list('listed'))),
    )
  })
