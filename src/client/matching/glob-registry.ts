import { defer, Observable, retry, Subject, Subscription, takeUntil, throwError } from 'rxjs'
import { backoff } from '../../core/util/backoff.js'
import { toHex } from '../../core/util/bytes.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { DelayedTeardown } from '../watch/delayed-teardown.js'
import { isPermanentError } from '../watch/permanent-errors.js'
import type {
  CoveredWatches,
  GlobObserver,
  RegistryOptions,
  UnmatchedChange,
  WatchedGlobs,
} from '../watch/shared-registration.js'
import { MOST_STOPS } from '../watch/watch-requests.js'
import { type GlobHost, GlobWatch, type Terms } from './glob-watch.js'

/** All watched globs of a client: one registration for each, renewed on every connection. */
export class GlobRegistry implements WatchedGlobs {
  readonly #options: RegistryOptions
  readonly #watches: CoveredWatches
  readonly #globs = new Map<string, GlobWatch>()
  readonly #endings: DelayedTeardown<GlobWatch>
  readonly #stops: GlobUnregistrations
  readonly #host: Omit<GlobHost, 'failed'>
  #isConnected = false
  #lostAt = 0

  constructor(options: RegistryOptions, watches: CoveredWatches) {
    this.#options = options
    this.#endings = new DelayedTeardown(options.clock, watch => this.#end(watch, undefined))
    this.#watches = watches
    this.#stops = new GlobUnregistrations(options, error => watches.report(error))
    this.#host = {
      watches,
      report: error => watches.report(error),
      lostAt: () => this.#lostAt,
      other: (key, not) => {
        const others = Array.from(this.#globs.values()).filter(watch => watch !== not && watch.covers(key))
        return others.find(({ registered }) => registered) ?? others[0]
      },
    }
  }

  /** Listens to the keys that fit a glob; of several listeners the loosest terms count. */
  join(glob: Uint8Array, terms: Terms, observer: GlobObserver): void {
    if (this.#watches.ended(observer)) return
    const id = toHex(glob)
    const known = this.#globs.get(id)
    const watch = known ?? this.#create(glob)
    this.#endings.callOff(watch)
    this.#globs.set(id, watch)
    watch.join(terms, observer)
    if (known !== undefined || !this.#mayBegin(watch)) return
    this.#stops.callOff(id)
    watch.connected()
  }

  /** Listens no longer. */
  leave(glob: Uint8Array, observer: GlobObserver): void {
    const watch = this.#globs.get(toHex(glob))
    if (watch?.leave(observer)) this.#endings.end(watch, this.#options.stopDelay)
  }

  /** The notification topic is subscribed. */
  connected(): void {
    if (this.#isConnected) return
    this.#isConnected = true
    this.#stops.clear()
    // A copy: listeners may begin one, which asks for itself at once, and end others.
    for (const watch of Array.from(this.#globs.values())) if (this.#mayBegin(watch)) watch.connected()
  }

  /** The connection is gone, and with it all registrations at the store. @param lostAt - ms since the Unix epoch */
  disconnected(lostAt: number): void {
    this.#isConnected = false
    this.#lostAt = lostAt
    this.#stops.clear()
    for (const watch of Array.from(this.#globs.values())) if (this.#isThere(watch)) watch.disconnected()
  }

  /** Ends all; with `stop` their registrations too, on a connection that goes on. */
  close(error: StateStoreError | undefined, stop: boolean): void {
    this.#isConnected &&= stop
    this.#stops.close()
    for (const watch of Array.from(this.#globs.values())) this.#end(watch, error)
  }

  /** A notification: its key may have come to a glob. */
  stray(stray: UnmatchedChange): void {
    // No copy for every notification: one that comes meanwhile is told as well, and reads the key.
    for (const watch of this.#globs.values()) watch.stray(stray)
  }

  #create(glob: Uint8Array): GlobWatch {
    const failed = (error: StateStoreError): void => this.#fail(watch, error)
    const watch = new GlobWatch(glob, this.#options, { ...this.#host, failed })
    return watch
  }

  #fail(watch: GlobWatch, error: StateStoreError): void {
    if (!this.#isThere(watch)) return
    this.#watches.report(error)
    this.#end(watch, error)
  }

  #isThere(watch: GlobWatch): boolean {
    return this.#globs.get(toHex(watch.glob)) === watch
  }

  #mayBegin(watch: GlobWatch): boolean {
    return this.#isConnected && !watch.isConnected && this.#isThere(watch)
  }

  #end(watch: GlobWatch, error: StateStoreError | undefined): void {
    if (!this.#isThere(watch)) return
    this.#globs.delete(toHex(watch.glob))
    this.#endings.callOff(watch)
    // First, so that what stands in for keys that are watched otherwise comes later.
    if (this.#isConnected && watch.mayBeRegistered) this.#stops.stop(watch.glob)
    watch.end(error)
  }
}

/**
 * Ends the registrations of globs, and asks again for what is not answered: {@link MOST_STOPS} times at most.
 *
 * @example
 * ```ts
 * stops.stop(utf8('sensor/*'))
 * stops.callOff(toHex(utf8('sensor/*'))) // somebody watches it again
 * ```
 */
class GlobUnregistrations {
  readonly #options: RegistryOptions
  readonly #report: (error: StateStoreError) => void
  readonly #stops = new Map<string, Subscription>()
  readonly #over$ = new Subject<void>()
  #isOver = false

  constructor(options: RegistryOptions, report: (error: StateStoreError) => void) {
    this.#options = options
    this.#report = report
  }

  /** Ends the registration for a glob. */
  stop(glob: Uint8Array): void {
    const { store, timeout, clock } = this.#options
    const id = toHex(glob)
    const pause = (ms: number): Observable<undefined> =>
      new Observable(subscriber => clock.schedule(ms, () => subscriber.next(undefined)))
    const stop = defer(() => store.notifyGlob(glob, true, timeout)).pipe(
      retry({
        delay: (error, attempt) => {
          if (this.#isOver || isPermanentError(error) || attempt === MOST_STOPS) return throwError(() => error)
          this.#report(error)
          return pause(backoff(attempt)).pipe(takeUntil(this.#over$))
        },
      }),
    )
    this.callOff(id)
    const subscription = new Subscription()
    subscription.add(() => {
      if (this.#stops.get(id) === subscription) this.#stops.delete(id)
    })
    // First, for who is told that it failed at once may watch the glob again, and call it off.
    this.#stops.set(id, subscription)
    subscription.add(
      stop.subscribe({
        error: error => {
          subscription.unsubscribe()
          // With the client all of its registrations end.
          if (!this.#isOver) this.#report(error)
        },
        complete: () => subscription.unsubscribe(),
      }),
    )
  }

  /** What is watched again must not be ended by an attempt from before. @param id - of the glob, in hex */
  callOff(id: string): void {
    this.#stops.get(id)?.unsubscribe()
  }

  /** Nobody will be there for an answer: what is asked from now on is asked once. */
  close(): void {
    this.#isOver = true
    this.#over$.next()
  }

  /** It is another connection, or none: no registration of before is left. */
  clear(): void {
    this.#isOver = false
    // What is called off tells nobody.
    for (const stop of this.#stops.values()) stop.unsubscribe()
  }
}
