import { connect, type StateStore, type Status } from 'rx-statestore'
import { distinctUntilChanged, Observable, repeat, shareReplay, startWith, switchMap, timer } from 'rxjs'
import type { StoreFacts } from '../../../src/server/console/contract.js'

/** How long the broker keeps answers for a page that lost its connection, ms; a page that is closed does not come back. */
const SESSION_EXPIRY = 10_000
const RECONNECT = { initial: 100, max: 2_000 }
/** Timers of a page in the background fire once a minute, ms. */
const KEEP_ALIVE = 120_000
/** Before a connection that was ended for good is made anew, ms. */
const PAUSE = 2_000

/** The page's own connection to the store, a new one when the store has moved. Closed without listeners. */
export const storeLink = (facts$: Observable<StoreFacts>, clientId: string, token: string): Observable<StateStore> =>
  facts$.pipe(
    distinctUntilChanged(samePlace),
    switchMap(facts => opened(facts, clientId, token).pipe(repeat({ delay: () => timer(PAUSE) }))),
    shareReplay({ bufferSize: 1, refCount: true }),
  )

/** State of the connection of whichever store there is. */
export const statusOf = (store$: Observable<StateStore>): Observable<Status> =>
  store$.pipe(
    switchMap(store => store.status$),
    startWith({ state: 'connecting' } as const),
  )

const samePlace = (a: StoreFacts, b: StoreFacts): boolean => JSON.stringify(a) === JSON.stringify(b)

/** A store with its own broker knows the token; another does not care. */
const loginOf = ({ attached, brokerLogin }: StoreFacts, token: string): object =>
  brokerLogin ?? (attached ? {} : { username: 'console', password: token })

const opened = (facts: StoreFacts, clientId: string, token: string): Observable<StateStore> =>
  new Observable(subscriber => {
    const store = connect(facts.wsUrl, {
      clientId,
      ...loginOf(facts, token),
      reconnect: RECONNECT,
      sessionExpiry: SESSION_EXPIRY,
      keepAlive: KEEP_ALIVE,
    })
    subscriber.add(() => store.close())
    subscriber.next(store)
    subscriber.add(store.status$.subscribe({ complete: () => subscriber.complete() }))
  })
