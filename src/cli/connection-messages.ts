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
import type { CliConnection } from './connection.js'
import { rootCause } from './failure.js'
import type { Io } from './io.js'
import { colorsFor, oneLine, timeOfDay } from './terminal.js'

/**
 * Emits messages about a watch's connection: when it is connected, unreachable or lost, when the values are
 * current again, and when no store has responded for `timeout` ms. Repeated failures emit one message.
 *
 * @param message - message that names the watched keys
 */
export function connectionMessages(
  { store, broker, timeout }: CliConnection,
  watched: readonly Pick<Key<unknown>, 'freshness$'>[],
  message: string,
): Observable<string> {
  const live$ = combineLatest(watched.map(one => one.freshness$)).pipe(
    map(all => all.every(({ state }) => state === 'live')),
    distinctUntilChanged(),
    shareReplay({ bufferSize: 1, refCount: true }),
  )
  return merge(
    reportConnection(store.status$, broker, true),
    syncMessages(live$, message),
    noStoreMessages(store.status$, live$, timeout),
    errorMessages(store.errors$, live$),
  )
}

/**
 * Emits messages about problems of a command's connection.
 *
 * @param answered$ - emits whether the store has responded to the command
 */
export const connectionProblems = (
  { store, broker, timeout }: CliConnection,
  answered$: Observable<boolean>,
): Observable<string> =>
  merge(
    reportConnection(store.status$, broker, false),
    noStoreMessages(store.status$, answered$, timeout),
    errorMessages(store.errors$, answered$),
  )

/** Prints a progress message to stderr. */
export function printMessage(message: string, { stderr, env, clock }: Io): void {
  stderr.write(`${colorsFor(stderr, env).dim(`${timeOfDay(clock.now())}  ${oneLine(message)}`)}\n`)
}

const MAX_REMEMBERED = 256

/** Suppresses messages that were already printed, because each attempt may fail in the same way. */
class PrintedMessages {
  readonly #messages = new Set<string>()

  isNew(message: string): boolean {
    if (this.#messages.has(message)) return false
    if (this.#messages.size >= MAX_REMEMBERED) this.forget()
    this.#messages.add(message)
    return true
  }

  /** Forgets all messages after a success, so that a later failure is printed again. */
  forget(): void {
    this.#messages.clear()
  }
}

/** @param greets - whether the first connection is reported as well */
function reportConnection(status$: Observable<Status>, broker: string, greets: boolean): Observable<string> {
  let [reached, connected, isReported, address] = [false, false, greets, broker]
  const printed = new PrintedMessages()
  return status$.pipe(
    map(status => {
      const [again, lost, tried] = [reached, connected, address]
      connected = status.state === 'connected'
      reached ||= connected
      address = ('url' in status && status.url) || broker
      if (connected) printed.forget()
      if (connected) return isReported ? `connected to ${address}${again ? ' again' : ''}` : ''
      if (status.state !== 'reconnecting') return ''
      isReported = true
      const cause = rootCause(status.cause)
      return lost ? `connection lost: ${cause}` : `cannot reach ${tried}, still trying: ${cause}`
    }),
    filter(message => message !== '' && printed.isNew(message)),
  )
}

const syncMessages = (live$: Observable<boolean>, watched: string): Observable<string> =>
  live$.pipe(
    filter(live => live),
    map((_, index) => `${index === 0 ? 'watching' : 'resynchronised'} ${watched}`),
  )

// The code `timeout` is reported by `noStoreMessages`.
const errorMessages = (errors$: Observable<StateStoreError>, well$: Observable<boolean>): Observable<string> =>
  defer(() => {
    const printed = new PrintedMessages()
    const fault$ = errors$.pipe(
      filter(({ code, message }) => code !== 'timeout' && printed.isNew(message)),
      map(({ message }) => message),
    )
    const reset$ = well$.pipe(
      tap(well => well && printed.forget()),
      ignoreElements(),
    )
    return merge(reset$, fault$)
  })

// A broker without a state store acknowledges every request and never responds.
const noStoreMessages = (
  status$: Observable<Status>,
  live$: Observable<boolean>,
  timeout: number,
): Observable<string> =>
  combineLatest([status$, live$]).pipe(
    switchMap(([{ state }, live]) => (state === 'connected' && !live ? timer(timeout) : EMPTY)),
    map(() => 'no state store answers there, still trying'),
  )
