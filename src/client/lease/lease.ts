import { distinctUntilChanged, map, Observable, of, switchMap } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import { StoreRequest } from '../../core/util/awaitable.js'
import { checkArgument, checkOptionNames } from '../../core/util/check.js'
import { ArgumentError, ClosedError } from '../../core/util/errors.js'
import { type ClientHost, StateStore } from '../connect/client.js'
import { bytes } from '../keys/codec.js'
import { ABORT_NAMES, type AbortOptions, abortable, checkSignal } from '../keys/options.js'
import { HOST, StoreView } from '../keys/store-view.js'
import { toKeyName } from '../watch/key-name.js'
import { acquireOrRenew, type ClaimResult, hasExpired, holderOf, releaseLease } from './acquire-or-renew.js'
import { LeaseCandidate } from './lease-candidate.js'
import { checkLeaseOptions, type LeaseOptions, type LeaseSettings, uniqueHolder } from './lease-options.js'
import { type Acquisition, LeaseLostError, type LeaseState } from './lease-state.js'

const MIN_RECOMMENDED_DURATION_MS = 100

/**
 * A lease on a lock key, as an observable of its state. Made by {@link lease}. Each subscriber requests, awaits, holds
 * and renews the lease; unsubscribing releases it. Cold: every subscription is a separate holder, so `share` it with
 * subscribers that only observe.
 *
 * The lease is lost if `duration` passes after the last confirmed renewal was sent, even without a connection. It is
 * then requested again. Every holding has a fencing token; see {@link withLock} and {@link fenced}. Errors with
 * `lock-key` when the key is not a lock, `not-authorized` or `closed`; completes when the client is closed.
 */
export class Lease extends Observable<LeaseState> {
  /** The lock key. */
  readonly name: string
  readonly #key: KeyName
  readonly #settings: LeaseSettings
  readonly #host: ClientHost

  /** Use {@link lease} instead. */
  constructor(key: KeyName, options: LeaseOptions, host: ClientHost) {
    const settings = checkLeaseOptions(options)
    if (settings.duration < MIN_RECOMMENDED_DURATION_MS) {
      const what = `a lease of ${settings.duration} ms is lost at any pause of the network or the program`
      host.warn('lease', `${what}: \`duration\` is in ms, typically a few thousand`)
    }
    super(subscriber => new LeaseCandidate(key, settings, host, subscriber).start())
    this.name = key.text
    this.#key = key
    this.#settings = settings
    this.#host = host
  }

  /**
   * Tries once to acquire the lease, without waiting for it. An acquired lease is not renewed: it expires unless the
   * caller releases it with `store.deleteIf(name, holder, text)`. If the call is cancelled or the response is lost, the
   * lease is released. See {@link StoreRequest}. Errors as a SET does, with `lock-key`, and with `lease-lost` if the
   * response arrived too late.
   */
  tryAcquire(options: AbortOptions = {}): StoreRequest<Acquisition> {
    return new StoreRequest(() => {
      checkOptionNames('tryAcquire', options, ABORT_NAMES)
      return abortable(this.#attempt(), checkSignal(options.signal))
    })
  }

  #attempt(): Observable<Acquisition> {
    return new Observable<Acquisition>(subscriber => {
      if (this.#host.isClosing()) {
        subscriber.error(new ClosedError())
        return
      }
      const { duration, holder = uniqueHolder(this.#host.clientId) } = this.#settings
      const timeout = Math.min(this.#host.timeout, duration)
      const claimant = { host: this.#host, key: this.#key, holder }
      let mustRelease = true
      subscriber.add(() => {
        if (mustRelease) releaseLease(claimant, timeout)
      })
      const result$ = acquireOrRenew(claimant, { duration, timeout }).pipe(
        switchMap(result => {
          if (result.applied && hasExpired(result.expiry, this.#host.clock))
            throw new LeaseLostError('expired', this.name)
          mustRelease = false
          return result.applied ? of(acquired(result, holder)) : this.#notAcquired()
        }),
      )
      subscriber.add(result$.subscribe(subscriber))
    })
  }

  #notAcquired(): Observable<Acquisition> {
    return this.#host.store
      .get(this.#key, this.#host.timeout)
      .pipe(map(found => ({ acquired: false, holder: found && holderOf(this.#key, found.value) })))
  }
}

const acquired = ({ version, expiry }: ClaimResult, holder: string): Acquisition => ({
  acquired: true,
  token: version,
  expiresAtMonotonic: expiry.monotonic,
  holder,
})

/**
 * Returns a lease on a lock key; see {@link Lease}. Cold: nothing is sent before the first subscription. Throws
 * `argument` for anything but a client of `connect`, an empty name or wrong options.
 *
 * @example
 * ```ts
 * lease(store, 'line-1', { duration: 10_000 }).subscribe(state =>
 *   console.log(state.status),
 * )
 * ```
 */
export function lease(store: StateStore, name: string | Uint8Array, options: LeaseOptions): Lease {
  checkArgument(store instanceof StateStore, 'a store of `connect`', store)
  if (options === undefined)
    throw new ArgumentError('Expected the duration of the lease, such as `lease(store, name, { duration: 10_000 })`')
  return new Lease(toKeyName(name), options, store[HOST])
}

/**
 * Watches who holds a lease, without competing for it: emits the holder's name, or `undefined` while the lease is
 * free. Cold. Errors as a key's watch does, and with `lock-key` when the key is not a lock. Throws `argument` for
 * anything but a store, and for an empty name.
 *
 * @example
 * ```ts
 * watchHolder(store, 'line-1').subscribe(holder =>
 *   console.log(holder ?? 'free'),
 * )
 * ```
 */
export function watchHolder(store: StoreView, name: string | Uint8Array): Observable<string | undefined> {
  checkArgument(store instanceof StoreView, 'a store', store)
  const key = toKeyName(name)
  return store.key(name, bytes).entries$.pipe(
    map(({ value }) => value && holderOf(key, value)),
    distinctUntilChanged(),
  )
}
