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
import { feed } from '../api/feed.js'
import { toGlob } from '../model/glob.js'
import { type ListedKey, listed } from '../model/listed-key.js'
import { type Route, toFragment, toRoute } from '../model/route.js'
import { cell } from './cell.js'
import type { Dialog } from './dialog.js'
import { Folding } from './folding.js'
import { type Health, watchHealth } from './health.js'
import { type KeyList, listKeys, MOST_KEYS } from './key-list.js'
import { NO_PULSES, type StatsHistory, withPulse } from './pulses.js'
import type { Row } from './row-book.js'
import { watchRows } from './rows.js'
import { statusOf, storeLink } from './store-link.js'
import { StoreTime } from './store-time.js'
import { Toasts } from './toasts.js'

/** All the page knows, and what it can do. */
export interface Console {
  readonly clientId: string
  readonly api: Api
  readonly store$: Observable<StateStore>
  readonly toasts: Toasts
  readonly facts$: BehaviorSubject<StoreFacts | undefined>
  readonly health$: BehaviorSubject<Health>
  readonly pulses$: BehaviorSubject<StatsHistory>
  readonly clients$: BehaviorSubject<readonly ClientFacts[]>
  /** What was typed into the search. */
  readonly typed$: BehaviorSubject<string>
  readonly list$: BehaviorSubject<KeyList>
  readonly folding: Folding
  /** Most keys in the list; falls back when something else is looked for. */
  readonly most$: BehaviorSubject<number>
  /** The keys that are to be seen. */
  readonly visible$: BehaviorSubject<readonly ListedKey[]>
  readonly rows$: BehaviorSubject<ReadonlyMap<string, Row>>
  /** The key that is open. */
  readonly open$: BehaviorSubject<ListedKey | undefined>
  readonly dialog$: BehaviorSubject<Dialog | undefined>
  readonly route$: BehaviorSubject<Route>
  /** The store's clock, every second while the page is to be seen; ms. */
  readonly now$: BehaviorSubject<number>
  now(): number
  /** Does something, whatever becomes of the view that asked for it; tells of a failure. */
  run<T>(asked: Observable<T>, done: (answer: T) => void): void
  /** Goes somewhere else, so that the browser's way back leads here. */
  go(route: Route): void
  close(): void
}

/** How soon what is typed is looked for, ms. */
const TYPING = 200
/** How often it is looked which rows are to be seen while the list is scrolled, ms. */
const SCROLLING = 100
const TICK = 1_000
/** How often the keys of a store that another process serves are listed, ms. */
const LOOKING = 5_000

/** Connects to the server and the store. */
export function openConsole(base: string, token: string, clientId: string): Console {
  const life = new Subscription()
  const api = new Api(base, token)
  const time = new StoreTime(systemClock)
  const toasts = new Toasts()
  const now = (): number => time.now()

  const events$ = feed(api).pipe(
    tap(event => {
      if (event.type === 'line' && event.line.type === 'pulse') time.heard(event.line.at)
    }),
    share(),
  )
  const facts$ = cell<StoreFacts | undefined>(
    events$.pipe(mergeMap(event => (event.type === 'open' ? [event.facts] : []))),
    undefined,
    life,
  )
  const lines$ = events$.pipe(mergeMap(event => (event.type === 'line' ? [event.line] : [])))
  const store$ = storeLink(facts$.pipe(filter(facts => facts !== undefined)), clientId, token)
  const pulse$ = lines$.pipe(filter(line => line.type === 'pulse'))
  const pulses$ = cell(pulse$.pipe(scan(withPulse, NO_PULSES)), NO_PULSES, life)
  const everybody$ = lines$.pipe(mergeMap(line => (line.type === 'clients' ? [line.clients] : [])))
  const clients$ = cell(everybody$, [], life)
  const last$ = pulses$.pipe(map(({ last }) => last))
  const health$ = cell(watchHealth(events$, statusOf(store$), last$, now), { state: 'connecting' }, life)

  const tick$ = fromEvent(document, 'visibilitychange').pipe(
    startWith(undefined),
    switchMap(() => (document.hidden ? EMPTY : timer(0, TICK))),
    share(),
  )
  const typed$ = new BehaviorSubject('')
  const route$ = new BehaviorSubject(toRoute(location.hash))
  life.add(fromEvent(window, 'hashchange').subscribe(() => route$.next(toRoute(location.hash))))
  const keyspace$ = pulses$.pipe(
    filter(({ last }) => last !== undefined),
    // What another store has is not told, and looked at again and again.
    map(({ last }) => `${last?.startedAt}:${last?.startedAt ? last.keyspace : Math.floor((last?.at ?? 0) / LOOKING)}`),
    distinctUntilChanged(),
  )
  const most$ = new BehaviorSubject(MOST_KEYS)
  life.add(typed$.subscribe(() => most$.next(MOST_KEYS)))
  const glob$ = typed$.pipe(auditTime(TYPING), startWith(''), map(toGlob))
  const list$ = cell<KeyList>(
    listKeys(store$, glob$, keyspace$, most$),
    { glob: '*', state: 'listing', keys: [], more: false },
    life,
  )

  const visible$ = new BehaviorSubject<readonly ListedKey[]>([])
  const openId$ = route$.pipe(
    map(route => (route.view === 'keys' ? route.id : undefined)),
    distinctUntilChanged(),
  )
  const open$ = cell(openId$.pipe(map(id => (id === undefined ? undefined : listed(id)))), undefined, life)
  const keys$ = combineLatest([visible$.pipe(auditTime(SCROLLING)), open$]).pipe(
    map(([visible, open]) => withOpen(visible, open)),
  )
  // A server that is away need not be asked every second.
  const asking$ = tick$.pipe(filter(() => health$.value.state === 'live' || health$.value.state === 'frozen'))
  const rows$ = cell(watchRows({ store$, api, keys$, tick$: asking$, now }), new Map<string, Row>(), life)
  const now$ = cell(tick$.pipe(map(now)), systemClock.now(), life)

  return {
    clientId,
    api,
    store$,
    toasts,
    facts$,
    health$,
    pulses$,
    clients$,
    typed$,
    list$,
    folding: new Folding(localStorage),
    most$,
    visible$,
    rows$,
    open$,
    dialog$: new BehaviorSubject<Dialog | undefined>(undefined),
    route$,
    now$,
    now,
    run: (asked, done) => {
      life.add(asked.subscribe({ next: done, error: (cause: unknown) => toasts.bad(cause) }))
    },
    go: route => {
      location.hash = toFragment(route)
      // The browser tells of it later, and the next thing to do may need the view.
      route$.next(route)
    },
    close: () => life.unsubscribe(),
  }
}

/** The open key may be out of sight, and is watched all the same. */
const withOpen = (visible: readonly ListedKey[], open: ListedKey | undefined): readonly ListedKey[] =>
  open === undefined || visible.some(({ id }) => id === open.id) ? visible : [...visible, open]
