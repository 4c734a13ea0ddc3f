import { bytes, connect, type StateStore, StateStoreError, type Status } from 'rx-statestore'
import {
  catchError,
  distinctUntilChanged,
  EMPTY,
  Observable,
  repeat,
  shareReplay,
  skip,
  startWith,
  switchMap,
  tap,
  timer,
} from 'rxjs'
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
 *
 * @param facts$ - a hot observable of the facts, which emits the latest facts on subscription, and again whenever the
 * page has reconnected to the server
 */
export const connectStore = (facts$: Observable<StoreFacts>, clientId: string, token: string): Observable<StateStore> =>
  facts$.pipe(
    distinctUntilChanged(isSameStore),
    switchMap(facts => openStore(facts, facts$, clientId, token).pipe(repeat({ delay: () => timer(REOPEN_DELAY_MS) }))),
    shareReplay({ bufferSize: 1, refCount: true }),
  )

export const statusOf = (store$: Observable<StateStore>): Observable<Status> =>
  store$.pipe(
    switchMap(store => store.status$),
    startWith({ state: 'connecting' } as const),
  )

const isSameStore = (a: StoreFacts, b: StoreFacts): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Returns the page's login at the broker. Only a store with a built-in broker accepts the token. */
const loginOf = ({ attached, brokerLogin }: StoreFacts, token: string): object =>
  brokerLogin ?? (attached ? {} : { username: 'console', password: token })

const openStore = (
  facts: StoreFacts,
  facts$: Observable<StoreFacts>,
  clientId: string,
  token: string,
): Observable<StateStore> =>
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
    let isConnected = false
    const status$ = store.status$.pipe(tap(({ state }) => (isConnected = state === 'connected')))
    subscriber.add(status$.subscribe({ complete: () => subscriber.complete() }))
    // The fault that ended the connection to the server may have ended this one without a sign.
    const isSilent = (cause: unknown): boolean =>
      isConnected && cause instanceof StateStoreError && cause.code === 'timeout'
    const response$ = store
      .key('-', bytes)
      .get()
      .pipe(
        catchError((cause: unknown) => {
          if (isSilent(cause)) void store.close()
          return EMPTY
        }),
      )
    subscriber.add(
      facts$
        .pipe(
          skip(1),
          switchMap(() => response$),
        )
        .subscribe(),
    )
  })
