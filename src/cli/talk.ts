import {
  combineLatest,
  distinctUntilChanged,
  EMPTY,
  filter,
  map,
  merge,
  type Observable,
  shareReplay,
  switchMap,
  timer,
} from 'rxjs'
import type { Key, Status } from '../index.js'
import type { Connection } from './connection.js'
import { rootCause } from './failure.js'

/**
 * What there is to say about the connection of a watch: reached or not, lost, back, when the values are current again,
 * and that no store answers for `timeout` ms. One line for each, however often it is tried.
 */
export function talkOf({ store, broker, timeout }: Connection, keys: readonly Key<unknown>[]): Observable<string> {
  const live$ = combineLatest(keys.map(key => key.freshness$)).pipe(
    map(all => all.every(({ state }) => state === 'live')),
    distinctUntilChanged(),
    shareReplay({ bufferSize: 1, refCount: true }),
  )
  return merge(
    connectionTalk(store.status$, broker),
    syncTalk(live$, keys.length === 1 ? 'the key' : `${keys.length} keys`),
    silenceTalk(store.status$, live$, timeout),
    store.errors$.pipe(map(error => error.message)),
  )
}

function connectionTalk(status$: Observable<Status>, broker: string): Observable<string> {
  let [reached, connected] = [false, false]
  return status$.pipe(
    // Progress of a resync is told when it is done.
    distinctUntilChanged((a, b) => a.state === 'connected' && b.state === 'connected'),
    map(status => {
      const [again, lost] = [reached, connected]
      connected = status.state === 'connected'
      reached ||= connected
      if (connected) return `connected to ${broker}${again ? ' again' : ''}`
      if (status.state !== 'reconnecting') return ''
      const cause = rootCause(status.cause)
      return lost ? `connection lost: ${cause}` : `cannot reach ${broker}, still trying: ${cause}`
    }),
    distinctUntilChanged(),
    filter(words => words !== ''),
  )
}

const syncTalk = (live$: Observable<boolean>, watched: string): Observable<string> =>
  live$.pipe(
    filter(live => live),
    map((_, index) => `${index === 0 ? 'watching' : 'resynchronised'} ${watched}`),
  )

// A broker without a state store takes every request and never answers.
const silenceTalk = (status$: Observable<Status>, live$: Observable<boolean>, timeout: number): Observable<string> =>
  combineLatest([status$, live$]).pipe(
    switchMap(([{ state }, live]) => (state === 'connected' && !live ? timer(timeout) : EMPTY)),
    map(() => 'no state store answers there, still trying'),
  )
