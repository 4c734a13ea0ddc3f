import {
  combineLatest,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  ignoreElements,
  map,
  merge,
  type Observable,
  shareReplay,
  switchMap,
  tap,
  timer,
} from 'rxjs'
import type { Key, StateStoreError, Status } from '../client/index.js'
import type { Connection } from './connection.js'
import { rootCause } from './failure.js'
import type { Io } from './io.js'
import { colorsFor, oneLine, timeOfDay } from './terminal.js'

/**
 * What there is to say about the connection of a watch: reached or not, lost, back, when the values are current again,
 * and that no store answers for `timeout` ms. One line for each, however often it is tried.
 *
 * @param words - what is watched
 */
export function connectionMessages(
  { store, broker, timeout }: Connection,
  watched: readonly Pick<Key<unknown>, 'freshness$'>[],
  words: string,
): Observable<string> {
  const live$ = combineLatest(watched.map(one => one.freshness$)).pipe(
    map(all => all.every(({ state }) => state === 'live')),
    distinctUntilChanged(),
    shareReplay({ bufferSize: 1, refCount: true }),
  )
  return merge(
    reportConnection(store.status$, broker, true),
    syncTalk(live$, words),
    silenceTalk(store.status$, live$, timeout),
    faultTalk(store.errors$, live$),
  )
}

/**
 * What there is to say about the connection of a command that runs under a lock: the same, but nothing as long as
 * nothing is wrong. `answered$` is whether the store has said something about the lock.
 */
export const troubleOf = ({ store, broker, timeout }: Connection, answered$: Observable<boolean>): Observable<string> =>
  merge(
    reportConnection(store.status$, broker, false),
    silenceTalk(store.status$, answered$, timeout),
    faultTalk(store.errors$, answered$),
  )

/** Says something about what a command does, on stderr. */
export function say(words: string, { stderr, env, clock }: Io): void {
  stderr.write(`${colorsFor(stderr, env).dim(`${timeOfDay(clock.now())}  ${oneLine(words)}`)}\n`)
}

/** So much that was said is known, at most. */
const MOST_SAID = 256

/** Keeps what is tried again and again from being said again and again. */
class Said {
  readonly #words = new Set<string>()

  isNew(words: string): boolean {
    if (this.#words.has(words)) return false
    if (this.#words.size >= MOST_SAID) this.forget()
    this.#words.add(words)
    return true
  }

  /** It went well; should it go wrong again, that is news. */
  forget(): void {
    this.#words.clear()
  }
}

/** `greets`: says that the broker was reached, also when there was no trouble before. */
function reportConnection(status$: Observable<Status>, broker: string, greets: boolean): Observable<string> {
  let [reached, connected, worthSaying, address] = [false, false, greets, broker]
  const said = new Said()
  return status$.pipe(
    // Progress of a resync is told when it is done.
    distinctUntilChanged((a, b) => a.state === 'connected' && b.state === 'connected'),
    map(status => {
      const [again, lost, tried] = [reached, connected, address]
      connected = status.state === 'connected'
      reached ||= connected
      address = ('url' in status && status.url) || broker
      if (connected) said.forget()
      if (connected) return worthSaying ? `connected to ${address}${again ? ' again' : ''}` : ''
      if (status.state !== 'reconnecting') return ''
      worthSaying = true
      const cause = rootCause(status.cause)
      return lost ? `connection lost: ${cause}` : `cannot reach ${tried}, still trying: ${cause}`
    }),
    filter(words => words !== '' && said.isNew(words)),
  )
}

const syncTalk = (live$: Observable<boolean>, watched: string): Observable<string> =>
  live$.pipe(
    filter(live => live),
    map((_, index) => `${index === 0 ? 'watching' : 'resynchronised'} ${watched}`),
  )

// Silence has words of its own, below.
const faultTalk = (errors$: Observable<StateStoreError>, well$: Observable<boolean>): Observable<string> =>
  defer(() => {
    const said = new Said()
    const fault$ = errors$.pipe(
      filter(({ code, message }) => code !== 'timeout' && said.isNew(message)),
      map(({ message }) => message),
    )
    const reset$ = well$.pipe(
      tap(well => well && said.forget()),
      ignoreElements(),
    )
    return merge(reset$, fault$)
  })

// A broker without a state store takes every request and never answers.
const silenceTalk = (status$: Observable<Status>, live$: Observable<boolean>, timeout: number): Observable<string> =>
  combineLatest([status$, live$]).pipe(
    switchMap(([{ state }, live]) => (state === 'connected' && !live ? timer(timeout) : EMPTY)),
    map(() => 'no state store answers there, still trying'),
  )
