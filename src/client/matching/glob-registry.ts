import { defer, Subscription } from 'rxjs'
import { toHex } from '../../core/util/bytes.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { DelayedTeardown } from '../watch/delayed-teardown.js'
import { retryWithBackoff } from '../watch/retry-with-backoff.js'
import type {
  GlobObserver,
  KeyWatches,
  RegistryOptions,
  UnmatchedChange,
  WatchedGlobs,
} from '../watch/shared-registration.js'
import { MAX_STOP_ATTEMPTS } from '../watch/watch-requests.js'
import { type GlobHost, type GlobOptions, GlobWatch } from './glob-watch.js'

/** All watched globs of a client. Each has one registration, which is renewed on every connection. */
export class GlobRegistry implements WatchedGlobs {
  readonly #options: RegistryOptions
  readonly #watches: KeyWatches
  readonly #globs = new Map<string, GlobWatch>()
  readonly #teardowns: DelayedTeardown<GlobWatch>
  readonly #unregistrations: GlobUnregistrations
  readonly #host: Omit<GlobHost, 'failed'>
  #isConnected = false
  #lostAt = 0

  constructor(options: RegistryOptions, watches: KeyWatches) {
    this.#options = options
    this.#teardowns = new DelayedTeardown(options.clock, watch => this.#end(watch, undefined))
    this.#watches = watches
    this.#unregistrations = new GlobUnregistrations(options, error => watches.report(error))
    this.#host = {
      watches,
      report: error => watches.report(error),
      lostAt: () => this.#lostAt,
      otherGlobFor: (key, not) => {
        const others = Array.from(this.#globs.values()).filter(watch => watch !== not && watch.covers(key))
        return others.find(({ isRegistered }) => isRegistered) ?? others[0]
      },
    }
  }

  /**
   * Watches the keys that match a glob. With several observers, the largest `maxKeys` and the shortest interval apply.
   */
  join(glob: Uint8Array, options: GlobOptions, observer: GlobObserver): void {
    if (this.#watches.endIfClosed(observer)) return
    const id = toHex(glob)
    const known = this.#globs.get(id)
    const watch = known ?? this.#create(glob)
    this.#teardowns.cancel(watch)
    this.#globs.set(id, watch)
    watch.join(options, observer)
    if (known !== undefined || !this.#canConnect(watch)) return
    this.#unregistrations.cancel(id)
    watch.connected()
  }

  leave(glob: Uint8Array, observer: GlobObserver): void {
    const watch = this.#globs.get(toHex(glob))
    if (watch?.leave(observer)) this.#teardowns.schedule(watch, this.#options.stopDelay)
  }

  connected(): void {
    if (this.#isConnected) return
    this.#isConnected = true
    this.#unregistrations.clear()
    // Iterates over a copy, because observers may start globs, which register themselves, and end others.
    for (const watch of Array.from(this.#globs.values())) if (this.#canConnect(watch)) watch.connected()
  }

  disconnected(lostAt: number): void {
    this.#isConnected = false
    this.#lostAt = lostAt
    this.#unregistrations.clear()
    for (const watch of Array.from(this.#globs.values())) if (this.#isCurrent(watch)) watch.disconnected()
  }

  /** Ends all globs. @param unregister - also ends their registrations, on a connection that stays */
  close(error: StateStoreError | undefined, unregister: boolean): void {
    this.#isConnected &&= unregister
    for (const watch of Array.from(this.#globs.values())) this.#end(watch, error)
    this.#unregistrations.clear()
  }

  onChange(change: UnmatchedChange): void {
    // Needs no copy: a glob that is added during the loop is visited, and reads the key.
    for (const watch of this.#globs.values()) watch.onChange(change)
  }

  #create(glob: Uint8Array): GlobWatch {
    const failed = (error: StateStoreError): void => this.#fail(watch, error)
    const watch = new GlobWatch(glob, this.#options, { ...this.#host, failed })
    return watch
  }

  #fail(watch: GlobWatch, error: StateStoreError): void {
    if (!this.#isCurrent(watch)) return
    this.#watches.report(error)
    this.#end(watch, error)
  }

  #isCurrent(watch: GlobWatch): boolean {
    return this.#globs.get(toHex(watch.glob)) === watch
  }

  #canConnect(watch: GlobWatch): boolean {
    return this.#isConnected && !watch.isConnected && this.#isCurrent(watch)
  }

  #end(watch: GlobWatch, error: StateStoreError | undefined): void {
    if (!this.#isCurrent(watch)) return
    this.#globs.delete(toHex(watch.glob))
    this.#teardowns.cancel(watch)
    // Sent first, because keys that are still watched register again after this STOP.
    if (this.#isConnected && watch.mayBeRegistered) this.#unregistrations.stop(watch.glob)
    watch.end(error)
  }
}

class GlobUnregistrations {
  readonly #options: RegistryOptions
  readonly #report: (error: StateStoreError) => void
  readonly #stops = new Map<string, Subscription>()

  constructor(options: RegistryOptions, report: (error: StateStoreError) => void) {
    this.#options = options
    this.#report = report
  }

  stop(glob: Uint8Array): void {
    const { store, timeout, clock } = this.#options
    const id = toHex(glob)
    const stop = defer(() => store.notifyGlob(glob, true, timeout)).pipe(
      retryWithBackoff(clock, this.#report, (_, attempt) => attempt === MAX_STOP_ATTEMPTS),
    )
    this.cancel(id)
    const subscription = new Subscription()
    subscription.add(() => {
      if (this.#stops.get(id) === subscription) this.#stops.delete(id)
    })
    // Stored before subscribing, because after a synchronous failure the caller may watch the glob again, which cancels
    // this STOP.
    this.#stops.set(id, subscription)
    subscription.add(
      stop.subscribe({
        error: error => {
          subscription.unsubscribe()
          this.#report(error)
        },
        complete: () => subscription.unsubscribe(),
      }),
    )
  }

  /** Cancels a pending STOP, which would end the registration of a glob that is watched again. @param id - in hex */
  cancel(id: string): void {
    this.#stops.get(id)?.unsubscribe()
  }

  /** Cancels all STOPs, because a lost connection or a closed client ended all registrations. */
  clear(): void {
    for (const stop of this.#stops.values()) stop.unsubscribe()
  }
}
