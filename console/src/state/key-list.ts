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
import { inOrder, type ListedKey, listed } from '../model/listed-key.js'
import { inWords } from '../model/words.js'

/** The keys that fit what is looked for. */
export interface KeyList {
  readonly glob: string
  /** `listing` until the first time all were there. */
  readonly state: 'listing' | 'listed' | 'failed'
  readonly keys: readonly ListedKey[]
  /** Whether there are more than are shown; they may belong between those as well, for a store lists in no order. */
  readonly more: boolean
  /** Why there is none. */
  readonly problem?: string
}

/** What is needed of a store. */
export interface Scannable {
  scan(glob: string): Observable<{ readonly id: string }>
}

/** Most keys in the list at first, and so many more whenever somebody asks: the store may have a million. */
export const MOST_KEYS = 2_000

/** How often keys that are on their way are shown, and how long to wait after a failure, ms. */
const PROGRESS = 150
const PAUSE = 1_000

/**
 * Lists the keys that fit the glob, `most$` of them, again whenever that or `keyspace$` has another value than when the
 * listing began. What was
 * found the time before stays until the new list is whole.
 */
export const listKeys = (
  store$: Observable<Scannable>,
  glob$: Observable<string>,
  keyspace$: Observable<string>,
  most$: Observable<number> = of(MOST_KEYS),
): Observable<KeyList> =>
  store$.pipe(
    switchMap(store =>
      glob$.pipe(
        distinctUntilChanged(),
        switchMap(glob => again(store, glob, keyspace$, most$)),
      ),
    ),
  )

/** A listing after the other, each as soon as there is reason for it. */
function again(
  store: Scannable,
  glob: string,
  keyspace$: Observable<string>,
  most$: Observable<number>,
): Observable<KeyList> {
  let listedOnce = false
  let failed = false
  let begunAt = ''
  let begunWith = MOST_KEYS
  const once = combineLatest([keyspace$, most$]).pipe(
    take(1),
    switchMap(([keyspace, most]) => {
      begunAt = keyspace
      begunWith = most
      failed = false
      return listing(store, glob, most)
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
    failed
      ? timer(PAUSE)
      : combineLatest([keyspace$, most$]).pipe(first(([keyspace, most]) => keyspace !== begunAt || most !== begunWith))
  return once.pipe(repeat({ delay: reason }))
}

const listing = (store: Scannable, glob: string, most: number): Observable<KeyList> =>
  defer(() => {
    const found: ListedKey[] = []
    const list = (state: KeyList['state']): KeyList => {
      const more = found.length > most
      return { glob, state, keys: inOrder(found.slice(0, most)), more }
    }
    const progress$ = store.scan(glob).pipe(
      take(most + 1),
      tap(({ id }) => found.push(listed(id))),
      auditTime(PROGRESS),
      map(() => list('listing')),
    )
    return concat(
      progress$,
      defer(() => of(list('listed'))),
    )
  })
