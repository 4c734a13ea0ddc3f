import { distinctUntilChanged, map, Observable, of, switchMap } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import { StoreRequest } from '../../core/util/awaitable.js'
import { checkOptionNames } from '../../core/util/check.js'
import { ArgumentError, ClosedError, formatValue } from '../../core/util/errors.js'
import { type ClientHost, StateStore } from '../connect/client.js'
import { bytes } from '../keys/codec.js'
import { Key } from '../keys/key.js'
import { ABORT_NAMES, type AbortOptions, abortable, checkSignal } from '../keys/options.js'
import { KeySource } from '../keys/source.js'
import { HOST } from '../keys/store-view.js'
import { toKeyName } from '../watch/key-name.js'
import { acquireOrRenew, type Claim, holderOf, isOver, releaseLease } from './acquire-or-renew.js'
import { LeaseCandidate } from './lease-candidate.js'
import { checkLeaseOptions, type LeaseOptions, type LeaseTerms, uniqueHolder } from './lease-options.js'
import { type Acquisition, LeaseLostError, type LeaseState } from './lease-state.js'

/** ms; there is hardly time to renew a shorter one. */
const SHORTEST_DURATION = 100

/**
 * A lease on a lock key: an observable of where it stands. A subscriber asks for it, waits for it, holds it and
 * renews it; unsubscribing gives it back. Cold: every subscriber is a holder of its own, so share it with those who only
 * wants to look.
 *
 * It is lost as soon as its time, counted from before the last confirmed renewal was sent, is over without another one,
 * whatever the network does; then it is asked for anew. Every holding has a fencing token; see {@link withLock} and
 * {@link fenced}. Errors with `lock-key` when the key is not a lock, `not-authorized` or `closed`; completes when the client
 * is closed.
 *
 * Made by {@link lease}.
 */
export class Lease extends Observable<LeaseState> {
  /** The lock key. */
  readonly name: string
  /**
   * Who holds it, for anyone to see: `undefined` while it is free. Acquires nothing; errors as the lease does.
   */
  readonly holder$: Observable<string | undefined>
  readonly #key: KeyName
  readonly #terms: LeaseTerms
  readonly #host: ClientHost

  /** Use {@link lease}. */
  constructor(key: KeyName, options: LeaseOptions, host: ClientHost) {
    const terms = checkLeaseOptions(options)
    if (terms.duration < SHORTEST_DURATION) {
      const what = `a lease of ${terms.duration} ms is lost with any pause of the network or of the program`
      host.warn('lease', `${what}: \`duration\` is in ms, and a few thousand are usual`)
    }
    super(subscriber => new LeaseCandidate(key, terms, host, subscriber).start())
    this.name = key.text
    this.#key = key
    this.#terms = terms
    this.#host = host
    this.holder$ = new Key(new KeySource(key, bytes, host)).entries$.pipe(
      map(({ value }) => value && holderOf(key, value)),
      distinctUntilChanged(),
    )
  }

  /**
   * Asks once, and says at once whether it was free. What is acquired is neither renewed nor given back by itself: it
   * runs out, or is given back with `store.deleteIf(name, holder, text)`. When the answer is not waited for any more, or
   * it does not come, it is given back. One request, see {@link StoreRequest}; errors as a SET does, with `lock-key`, and with `lease-lost` when the answer
   * came too late.
   */
  tryAcquire(options: AbortOptions = {}): StoreRequest<Acquisition> {
    return new StoreRequest(() => {
      checkOptionNames('tryAcquire', options, ABORT_NAMES)
      return abortable(this.#attempt(), checkSignal(options.signal))
    })
  }

  #attempt(): Observable<Acquisition> {
    return new Observable<Acquisition>(subscriber => {
      if (this.#host.isLeaving()) {
        subscriber.error(new ClosedError())
        return
      }
      const { duration, holder = uniqueHolder(this.#host.clientId) } = this.#terms
      const timeout = Math.min(this.#host.timeout, duration)
      const claimant = { host: this.#host, key: this.#key, holder }
      let owed = true
      subscriber.add(() => {
        if (owed) releaseLease(claimant, timeout)
      })
      const answer$ = acquireOrRenew(claimant, { duration, timeout }).pipe(
        switchMap(answer => {
          if (answer.applied && isOver(answer.expiry, this.#host.clock)) throw new LeaseLostError('expired', this.name)
          owed = false
          return answer.applied ? of(acquired(answer, holder)) : this.#refused()
        }),
      )
      subscriber.add(answer$.subscribe(subscriber))
    })
  }

  #refused(): Observable<Acquisition> {
    return this.#host.store
      .get(this.#key, this.#host.timeout)
      .pipe(map(found => ({ acquired: false, holder: found && holderOf(this.#key, found.value) })))
  }
}

const acquired = ({ version, expiry }: Claim, holder: string): Acquisition => ({
  acquired: true,
  token: version,
  expiresAtMonotonic: expiry.monotonic,
  holder,
})

/**
 * A lease on a lock key: see {@link Lease}. Cold: nothing is asked for before somebody subscribes. Throws `argument`
 * for anything but a store, an empty name or wrong options.
 *
 * @example
 * ```ts
 * lease(store, 'line-1', { duration: 10_000 }).subscribe(state => console.log(state.status))
 * ```
 */
export function lease(store: StateStore, name: string | Uint8Array, options: LeaseOptions): Lease {
  if (!(store instanceof StateStore))
    throw new ArgumentError(`Expected a store of \`connect\`, got \`${formatValue(store)}\``)
  if (options === undefined)
    throw new ArgumentError('Expected the duration of the lease, such as `lease(store, name, { duration: 10_000 })`')
  return new Lease(toKeyName(name), options, store[HOST])
}
