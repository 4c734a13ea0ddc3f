import { connect, type StateStore, type Status } from 'rx-statestore'
import { distinctUntilChanged, Observable, repeat, shareReplay, startWith, switchMap, timer } from 'rxjs'
import type { StoreFacts } from '../../../src/server/console/contract.js'

/**
 * Time that the broker queues responses after a lost connection, ms. It is short because a closed page does not return.
 */
const SESSION_EXPIRY_MS = 10_000
const RECONNECT = { initial: 100, max: 2_000 }
/** Keep-alive interval, ms. It is long because timers of a background page fire once a minute. */
const KEEP_ALIVE_MS = 120_000
const REOPEN_DELAY_MS = 2_000
/** Time after which a write fails that the store has not answered, ms. */
export const WRITE_TIMEOUT_MS = 10_000

/**
 * Emits the page's client, and a new one when the store's address changes. Closes the client when there are no
 * subscribers.
 */
export const connectStore = (facts$: Observable<StoreFacts>, clientId: string, token: string): Observable<StateStore> =>
  facts$.pipe(
    distinctUntilChanged(isSameStore),
    switchMap(facts => openStore(facts, clientId, token).pipe(repeat({ delay: () => timer(REOPEN_DELAY_MS) }))),
    shareReplay({ bufferSize: 1, refCount: true }),
  )

export const statusOf = (store$: Observable<StateStore>): Observable<Status> =>
  store$.pipe(
    switchMap(store => store.status$),
    startWith({ state: 'connecting' } as const),
  )

const isSameStore = (a: StoreFacts, b: StoreFacts): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Returns the login of the page at the broker. Only a store with a built-in broker accepts the token. */
const loginOf = ({ attached, brokerLogin }: StoreFacts, token: string): object =>
  brokerLogin ?? (attached ? {} : { username: 'console', password: token })

const openStore = (facts: StoreFacts, clientId: string, token: string): Observable<StateStore> =>
  new Observable(subscriber => {
    const store = connect(facts.wsUrl, {
      clientId,
      ...loginOf(facts, token),
      reconnect: RECONNECT,
      sessionExpiry: SESSION_EXPIRY_MS,
      keepAlive: KEEP_ALIVE_MS,
      timeout: WRITE_TIMEOUT_MS,
    })
    subscriber.add(() => store.close())
    subscriber.next(store)
    subscriber.add(store.status$.subscribe({ complete: () => subscriber.complete() }))
  })
