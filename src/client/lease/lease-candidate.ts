import { EMPTY, type Observable, type Subscriber, Subscription } from 'rxjs'
import { leaseChannel } from '../../core/diagnostics/client-channels.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { backoff } from '../../core/util/backoff.js'
import { ClosedError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import type { ClientHost } from '../connect/client.js'
import { bytes } from '../keys/codec.js'
import { Key } from '../keys/key.js'
import { KeySource } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import type { Entry } from '../watch/watch-state.js'
import {
  acquireOrRenew,
  type Claimant,
  type ClaimResult,
  hasExpired,
  holderOf,
  isTransientError,
  releaseLease,
} from './acquire-or-renew.js'
import { HeldLease } from './held-lease.js'
import { type LeaseSettings, uniqueHolder } from './lease-options.js'
import { type LeaseLossReason, LeaseLostError, type LeaseState, LockKeyError } from './lease-state.js'

interface ObservedLock {
  readonly holder: string | undefined
  readonly version: Hlc | undefined
}

/**
 * One subscriber of a lease: acquires it, waits for it and renews it. Waits until the watch of the lock key shows that
 * the lock is free, and retries after `duration` without a change, because some stores do not notify of expiry.
 */
export class LeaseCandidate {
  readonly #key: KeyName
  readonly #settings: LeaseSettings
  readonly #host: ClientHost
  readonly #subscriber: Subscriber<LeaseState>
  readonly #holder: string
  readonly #acquireBackoff: AcquireBackoff
  #heldLease: HeldLease | undefined
  #request = Subscription.EMPTY
  readonly #retry: Timer
  #observed: ObservedLock | undefined
  #freshness: Freshness['state'] = 'connecting'
  #awaitedHolder: string | undefined
  /** Whether the lock key may name this candidate; true from a request until a response denies it. */
  #mustRelease = false

  constructor(key: KeyName, settings: LeaseSettings, host: ClientHost, subscriber: Subscriber<LeaseState>) {
    this.#key = key
    this.#settings = settings
    this.#host = host
    this.#retry = new Timer(host.clock)
    this.#subscriber = subscriber
    this.#acquireBackoff = new AcquireBackoff(settings.duration)
    this.#holder = settings.holder ?? uniqueHolder(host.clientId)
  }

  start(): void {
    if (this.#host.isClosing()) {
      this.#subscriber.error(new ClosedError())
      return
    }
    this.#host.closeHooks.add(this.#closeHook)
    this.#subscriber.add(() => this.#stop())
    this.#acquire()
    if (this.#subscriber.closed) return
    const key = new Key(new KeySource(this.#key, bytes, this.#host))
    this.#subscriber.add(
      key.entries$.subscribe({
        next: entry => this.#onEntry(entry),
        error: error => this.#fail(error),
        complete: () => this.#finish(),
      }),
    )
    // Subscribed after the entries, so that an entry is handled before the watch is live. Ends with the entries.
    const watched = key.freshness$.subscribe({
      next: freshness => this.#onFreshness(freshness),
      error: () => undefined,
    })
    this.#subscriber.add(watched)
  }

  readonly #closeHook = (): Observable<never> => {
    this.#finish()
    return EMPTY
  }

  #acquire(): void {
    this.#retry.cancel()
    this.#request.unsubscribe()
    this.#mustRelease = true
    this.#request = this.#claim().subscribe({
      next: result => this.#onResult(result),
      error: error => this.#onError(error),
    })
  }

  /** Sends a request for the lease. Its timeout limits renewals to three in flight. */
  #claim(): Observable<ClaimResult> {
    const { duration, renewEvery } = this.#settings
    const timeoutMs = this.#heldLease ? 3 * renewEvery : this.#host.timeout
    return acquireOrRenew(this.#claimant, { duration, timeout: Math.min(timeoutMs, duration) })
  }

  #onResult(result: ClaimResult): void {
    this.#acquireBackoff.reset()
    if (result.applied) {
      this.#onAcquired(result)
      return
    }
    this.#mustRelease = false
    this.#wait(result.version)
    this.#acquireBackoff.recordRejection()
  }

  get #claimant(): Claimant {
    return { host: this.#host, key: this.#key, holder: this.#holder }
  }

  #onAcquired(result: ClaimResult): void {
    const { clock } = this.#host
    if (hasExpired(result.expiry, clock)) {
      this.#acquireAfter(this.#acquireBackoff.retryMs())
      return
    }
    const heldLease = new HeldLease(result, {
      clock,
      duration: this.#settings.duration,
      renewEvery: this.#settings.renewEvery,
      claim: () => this.#claim(),
      isWatched: () => this.#freshness === 'live',
      renewed: () => this.#emitHeld(heldLease),
      lost: (reason, cause) => this.#onLost(reason, cause),
    })
    this.#heldLease = heldLease
    this.#emitHeld(heldLease)
  }

  #onError(error: unknown): void {
    if (!isTransientError(error)) {
      this.#fail(error)
      return
    }
    this.#acquireAfter(this.#acquireBackoff.retryMs())
    // A lost connection is already visible in `status$`, so it is not reported. The report comes last, because its
    // callback may unsubscribe.
    if (error.code !== 'timeout') this.#host.report(error)
  }

  #onLost(reason: LeaseLossReason, cause: unknown): void {
    this.#heldLease = undefined
    this.#emit({ status: 'lost', cause: this.#lossError(reason, cause) })
    if (this.#subscriber.closed) return
    if (reason === 'ended') this.#fail(cause)
    else this.#wait(undefined)
  }

  #onEntry(entry: Entry<Uint8Array>): void {
    try {
      const holder = entry.value && holderOf(this.#key, entry.value)
      this.#observed = { holder, version: entry.version }
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#acquireBackoff.onEntry()
    const { holder, version } = this.#observed
    if (this.#heldLease) {
      if (holder !== this.#holder) this.#heldLease.onContradiction(version, holder === undefined ? 'revoked' : 'taken')
      return
    }
    // A pending request may still get its response, unless it was sent on a lost connection.
    if (this.#request.closed) this.#wait(undefined)
    else if (holder === this.#holder && entry.source === 'resync') this.#acquire()
  }

  #onFreshness({ state }: Freshness): void {
    const hadGap = this.#freshness === 'stale' || this.#freshness === 'resyncing'
    this.#freshness = state
    if (state === 'live' && this.#observed?.holder === this.#holder)
      this.#heldLease?.onConfirmation(this.#observed.version, hadGap)
  }

  /**
   * Waits for the holder, or retries soon if the lock is free. @param conflicting - the version that rejected this
   * candidate's request
   */
  #wait(conflicting: Hlc | undefined): void {
    const observed =
      this.#observed && !(conflicting && isOlder(this.#observed.version, conflicting)) ? this.#observed : undefined
    const other = observed?.holder === this.#holder ? undefined : observed?.holder
    const isFree = other === undefined && (observed !== undefined || conflicting === undefined)
    this.#acquireAfter(isFree ? this.#acquireBackoff.jitterMs() : this.#acquireBackoff.waitMs())
    if (other !== undefined && other !== this.#awaitedHolder) this.#emit({ status: 'waiting', holder: other })
  }

  #acquireAfter(delayMs: number): void {
    this.#retry.set(delayMs, () => this.#acquire())
  }

  #emitHeld({ token, expiresAtMonotonic }: HeldLease): void {
    this.#emit({ status: 'held', token, expiresAtMonotonic, holder: this.#holder })
  }

  #emit(state: LeaseState): void {
    this.#awaitedHolder = state.status === 'waiting' ? state.holder : undefined
    if (leaseChannel.hasSubscribers)
      leaseChannel.publish({ clientId: this.#host.clientId, key: this.#key.text, ...state })
    this.#subscriber.next(state)
  }

  #lossError(reason: LeaseLossReason, cause: unknown): LeaseLostError {
    return new LeaseLostError(reason, this.#key.text, cause === undefined ? {} : { cause })
  }

  #fail(error: unknown): void {
    this.#endHolding(error)
    this.#subscriber.error(error)
  }

  #finish(): void {
    this.#endHolding(undefined)
    this.#subscriber.complete()
  }

  #endHolding(cause: unknown): void {
    if (this.#heldLease === undefined) return
    this.#heldLease.end()
    this.#heldLease = undefined
    const reason = cause instanceof LockKeyError ? 'taken' : 'ended'
    this.#emit({ status: 'lost', cause: this.#lossError(reason, cause) })
  }

  #stop(): void {
    this.#host.closeHooks.delete(this.#closeHook)
    this.#retry.cancel()
    this.#request.unsubscribe()
    this.#heldLease?.end()
    this.#heldLease = undefined
    if (!this.#mustRelease) return
    this.#mustRelease = false
    const { duration } = this.#settings
    releaseLease(this.#claimant, Math.min(this.#host.timeout, duration))
  }
}

/**
 * Returns whether an entry precedes a rejection. An entry without a version, for a key that was not found, always does.
 */
const isOlder = (version: Hlc | undefined, conflicting: Hlc): boolean =>
  version === undefined || version.compareTo(conflicting) < 0

const MAX_JITTER_MS = 50
const FIRST_RETRY_MS = 50
const MAX_WAIT_MS = 60_000

/** Computes the delay before the next request of a candidate. Times in ms. */
class AcquireBackoff {
  readonly #duration: number
  #failures = 0
  #rejections = 0

  constructor(duration: number) {
    this.#duration = duration
  }

  reset(): void {
    this.#failures = 0
  }

  recordRejection(): void {
    this.#rejections++
  }

  onEntry(): void {
    this.#rejections = 0
  }

  jitterMs(): number {
    return backoff(1, { initial: Math.min(MAX_JITTER_MS, this.#duration / 10) })
  }

  /**
   * Returns the delay after which a silent holder is assumed to have failed. The delay doubles with every rejection.
   */
  waitMs(): number {
    const longer = Math.min(this.#duration * 2 ** this.#rejections, MAX_WAIT_MS)
    return Math.max(this.#duration, longer) + this.jitterMs()
  }

  retryMs(): number {
    this.#failures++
    return backoff(this.#failures, { initial: FIRST_RETRY_MS, max: this.#duration })
  }
}
