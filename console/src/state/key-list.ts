import {
  auditTime,
  catchError,
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
import { inOrder, type ListedKey, listed } from '../model/listed-key.js'
import { inWords } from '../model/words.js'

/** The keys that fit what is looked for. */
export interface KeyList {
  readonly glob: string
  /** `listing` until the first time all were there. */
  readonly state: 'listing' | 'listed' | 'failed'
  readonly keys: readonly ListedKey[]
  /** Whether there are more than are shown. */
  readonly more: boolean
  /** Why there is none. */
  readonly problem?: string
}

/** What is needed of a store. */
export interface Scannable {
  scan(glob: string): Observable<{ readonly id: string }>
}

/** Most keys in the list: more is not read, and the store may have a million. */
export const MOST_KEYS = 2_000

/** How often keys that are on their way are shown, and how long to wait after a failure, ms. */
const PROGRESS = 150
const PAUSE = 1_000

/**
 * Lists the keys that fit the glob, again whenever `keyspace$` has another value than when the listing began. What was
 * found the time before stays until the new list is whole.
 */
export const listKeys = (
  store$: Observable<Scannable>,
  glob$: Observable<string>,
  keyspace$: Observable<string>,
): Observable<KeyList> =>
  store$.pipe(
    switchMap(store =>
      glob$.pipe(
        distinctUntilChanged(),
        switchMap(glob => again(store, glob, keyspace$)),
      ),
    ),
  )

/** A listing after the other, each as soon as there is reason for it. */
function again(store: Scannable, glob: string, keyspace$: Observable<string>): Observable<KeyList> {
  let listedOnce = false
  let failed = false
  let begunAt = ''
  const once = keyspace$.pipe(
    take(1),
    switchMap(keyspace => {
      begunAt = keyspace
      failed = false
      return listing(store, glob)
    }),
    filter(({ state }) => state === 'listed' || !listedOnce),
    tap(({ state }) => {
      listedOnce ||= state === 'listed'
    }),
    catchError((cause: unknown) => {
      failed = true
      const { title, advice } = inWords(cause)
      const problem = `${title}. ${advice}`
      return listedOnce ? EMPTY : of<KeyList>({ glob, state: 'failed', keys: [], more: false, problem })
    }),
  )
  const reason = (): Observable<unknown> =>
    failed ? timer(PAUSE) : keyspace$.pipe(first(keyspace => keyspace !== begunAt))
  return once.pipe(repeat({ delay: reason }))
}

const listing = (store: Scannable, glob: string): Observable<KeyList> =>
  defer(() => {
    const found: ListedKey[] = []
    const list = (state: KeyList['state']): KeyList => {
      const more = found.length > MOST_KEYS
      return { glob, state, keys: inOrder(found.slice(0, MOST_KEYS)), more }
    }
    const progress$ = store.scan(glob).pipe(
      take(MOST_KEYS + 1),
      tap(({ id }) => found.push(listed(id))),
      auditTime(PROGRESS),
      map(() => list('listing')),
    )
    return concat(
      progress$,
      defer(() => of(list('listed'))),
    )
  })
