import { type StateStore, systemClock } from 'rx-statestore'
import {
  auditTime,
  BehaviorSubject,
  combineLatest,
  distinctUntilChanged,
  EMPTY,
  filter,
  fromEvent,
  map,
  mergeMap,
  type Observable,
  Subscription,
  scan,
  share,
  startWith,
  switchMap,
  tap,
  timer,
} from 'rxjs'
import type { ClientFacts, StoreFacts } from '../../../src/server/console/contract.js'
import { Api } from '../api/api.js'
import { type FeedEvent, feed } from '../api/feed.js'
import { toGlob } from '../model/glob.js'
import { type ListedKey, toListedKey } from '../model/listed-key.js'
import { type Route, toFragment, toRoute } from '../model/route.js'
import { cell } from './cell.js'
import type { Dialog } from './dialog.js'
import { Folding } from './folding.js'
import { KEY_PAGE_SIZE, type KeyList, listKeys } from './key-list.js'
import type { Row } from './row-cache.js'
import { watchRows } from './rows.js'
import { addSample, NO_STATS, type StatsHistory } from './stats-history.js'
import { type Health, watchHealth } from './store-health.js'
import { connectStore, statusOf } from './store-link.js'
import { StoreTime } from './store-time.js'
import { Toasts } from './toasts.js'

export interface Console {
  readonly clientId: string
  readonly api: Api
  readonly store$: Observable<StateStore>
  readonly toasts: Toasts
  readonly facts$: BehaviorSubject<StoreFacts | undefined>
  readonly health$: BehaviorSubject<Health>
  readonly stats$: BehaviorSubject<StatsHistory>
  readonly clients$: BehaviorSubject<readonly ClientFacts[]>
  readonly searchText$: BehaviorSubject<string>
  readonly list$: BehaviorSubject<KeyList>
  readonly folding: Folding
  /** Maximum number of keys in the list. A new search resets it. */
  readonly maxKeys$: BehaviorSubject<number>
  readonly visible$: BehaviorSubject<readonly ListedKey[]>
  readonly rows$: BehaviorSubject<ReadonlyMap<string, Row>>
  readonly open$: BehaviorSubject<ListedKey | undefined>
  readonly dialog$: BehaviorSubject<Dialog | undefined>
  readonly route$: BehaviorSubject<Route>
  /** The time of the store's clock, ms. Updated every second while the page is visible. */
  readonly now$: BehaviorSubject<number>
  now(): number
  /** Runs a request independently of the view that started the request. Errors are shown as toasts. */
  run<T>(request$: Observable<T>, done: (answer: T) => void): void
  navigate(route: Route): void
  close(): void
}

const SEARCH_DELAY_MS = 200
const SCROLL_SAMPLE_MS = 100
const TICK_MS = 1_000
/** Interval at which the keys of an active store in another process are listed, ms. */
const OTHER_STORE_LIST_MS = 5_000

export function openConsole(base: string, token: string, clientId: string): Console {
  const lifetime = new Subscription()
  const api = new Api(base, token)
  const time = new StoreTime(systemClock)
  const toasts = new Toasts()
  const now = (): number => time.now()

  const { events$, facts$, stats$, clients$ } = openFeed(api, time, lifetime)
  const store$ = connectStore(facts$.pipe(filter(facts => facts !== undefined)), clientId, token)
  const last$ = stats$.pipe(map(({ last }) => last))
  const health$ = cell(watchHealth(events$, statusOf(store$), last$, now), { state: 'connecting' }, lifetime)
  const tick$ = ticksWhileVisible()
  const { route$, open$, navigate } = openRoute(lifetime)
  const { searchText$, maxKeys$, list$ } = openSearch(store$, stats$, lifetime)
  const visible$ = new BehaviorSubject<readonly ListedKey[]>([])
  const keys$ = combineLatest([visible$.pipe(auditTime(SCROLL_SAMPLE_MS)), open$]).pipe(
    map(([visible, open]) => withOpen(visible, open)),
  )
  // An unreachable server is not polled.
  const refresh$ = tick$.pipe(filter(() => health$.value.state === 'live' || health$.value.state === 'frozen'))
  const rows$ = cell(watchRows({ store$, api, keys$, tick$: refresh$, now }), new Map<string, Row>(), lifetime)
  const now$ = cell(tick$.pipe(map(now)), systemClock.now(), lifetime)

  return {
    clientId,
    api,
    store$,
    toasts,
    facts$,
    health$,
    stats$,
    clients$,
    searchText$,
    list$,
    folding: new Folding(localStorage),
    maxKeys$,
    visible$,
    rows$,
    open$,
    dialog$: new BehaviorSubject<Dialog | undefined>(undefined),
    route$,
    now$,
    now,
    run: (request$, done) => {
      lifetime.add(request$.subscribe({ next: done, error: (cause: unknown) => toasts.failure(cause) }))
    },
    navigate,
    close: () => lifetime.unsubscribe(),
  }
}

interface Feed extends Pick<Console, 'facts$' | 'stats$' | 'clients$'> {
  readonly events$: Observable<FeedEvent>
}

/** What the server reports: the facts of the store, its statistics and its clients. */
function openFeed(api: Api, time: StoreTime, lifetime: Subscription): Feed {
  const events$ = feed(api).pipe(
    tap(event => {
      if (event.type === 'line' && event.line.type === 'pulse') time.synchronize(event.line.at)
    }),
    share(),
  )
  const facts$ = cell<StoreFacts | undefined>(
    events$.pipe(mergeMap(event => (event.type === 'open' ? [event.facts] : []))),
    undefined,
    lifetime,
  )
  const lines$ = events$.pipe(mergeMap(event => (event.type === 'line' ? [event.line] : [])))
  const samples$ = lines$.pipe(filter(line => line.type !== 'clients'))
  const stats$ = cell(samples$.pipe(scan(addSample, NO_STATS)), NO_STATS, lifetime)
  const allClients$ = lines$.pipe(mergeMap(line => (line.type === 'clients' ? [line.clients] : [])))
  return { events$, facts$, stats$, clients$: cell(allClients$, [], lifetime) }
}

const ticksWhileVisible = (): Observable<number> =>
  fromEvent(document, 'visibilitychange').pipe(
    startWith(undefined),
    switchMap(() => (document.hidden ? EMPTY : timer(0, TICK_MS))),
    share(),
  )

/** The view and the open key, which the page's address has. */
function openRoute(lifetime: Subscription): Pick<Console, 'route$' | 'open$' | 'navigate'> {
  const route$ = new BehaviorSubject(toRoute(location.hash))
  lifetime.add(fromEvent(window, 'hashchange').subscribe(() => route$.next(toRoute(location.hash))))
  const openId$ = route$.pipe(
    map(route => (route.view === 'keys' ? route.id : undefined)),
    distinctUntilChanged(),
  )
  return {
    route$,
    open$: cell(openId$.pipe(map(id => (id === undefined ? undefined : toListedKey(id)))), undefined, lifetime),
    navigate: route => {
      location.hash = toFragment(route)
      // Sets the route directly, because the browser's event fires later and the caller may need the view immediately.
      route$.next(route)
    },
  }
}

/** The search, and the keys that it finds. */
function openSearch(
  store$: Observable<StateStore>,
  stats$: Observable<StatsHistory>,
  lifetime: Subscription,
): Pick<Console, 'searchText$' | 'maxKeys$' | 'list$'> {
  const searchText$ = new BehaviorSubject('')
  const maxKeys$ = new BehaviorSubject(KEY_PAGE_SIZE)
  lifetime.add(searchText$.subscribe(() => maxKeys$.next(KEY_PAGE_SIZE)))
  const keyspace$ = stats$.pipe(
    filter(({ last }) => last !== undefined),
    // Key changes of another store are not reported here, so its keys are listed periodically.
    map(
      ({ last }) =>
        `${last?.startedAt}:${last?.startedAt ? last.keyspace : Math.floor((last?.at ?? 0) / OTHER_STORE_LIST_MS)}`,
    ),
    distinctUntilChanged(),
  )
  const glob$ = searchText$.pipe(auditTime(SEARCH_DELAY_MS), startWith(''), map(toGlob))
  const list$ = cell<KeyList>(
    listKeys(store$, glob$, keyspace$, maxKeys$),
    { glob: '*', state: 'listing', keys: [], more: false },
    lifetime,
  )
  return { searchText$, maxKeys$, list$ }
}

/** Adds the open key, which may be scrolled out of view. */
const withOpen = (visible: readonly ListedKey[], open: ListedKey | undefined): readonly ListedKey[] =>
  open === undefined || visible.some(({ id }) => id === open.id) ? visible : [...visible, open]
