import { finalize, type Observable, Subscription } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { Clock } from '../../core/util/clock.js'
import { OutcomeUnknownError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import { type ClaimResult, hasExpired, isTransientError } from './acquire-or-renew.js'
import type { LeaseLossReason } from './lease-state.js'

export interface HeldLeaseHost {
  readonly clock: Clock
  /** Time from the sending of a request to the expiry that the request sets, ms. */
  readonly duration: number
  readonly renewEvery: number
  readonly claim: () => Observable<ClaimResult>
  readonly isWatched: () => boolean
  readonly renewed: () => void
  readonly lost: (reason: LeaseLossReason, cause?: unknown) => void
}

/**
 * One holding of a lease, from acquisition to loss. Renewals are sent on schedule even while earlier ones are pending,
 * because a response may be late, or lost with a connection. The lease expires `duration` after the last confirmed
 * renewal was sent.
 *
 * Renewal pauses while the watch of the lock key is interrupted: the response would hide that another holder, with a
 * newer token, had the lease in between.
 */
export class HeldLease {
  readonly token: Hlc
  readonly #host: HeldLeaseHost
  readonly #renewals = new Subscription()
  #inFlight = 0
  /** Whether the outcome of a renewal since the last confirmed one is unknown. */
  #isOutcomeUnknown = false
  /** Whether a renewal waits for the watch to be live. */
  #isOverdue = false
  #confirmed: ClaimResult
  readonly #renewal: Timer
  readonly #expiry: Timer
  #lastError: unknown

  constructor(first: ClaimResult, host: HeldLeaseHost) {
    this.token = first.version
    this.#host = host
    this.#confirmed = first
    this.#expiry = new Timer(host.clock)
    this.#renewal = new Timer(host.clock)
    this.#armExpiry()
    this.#armRenewal(this.#firstRenewalMs)
  }

  get expiresAtMonotonic(): number {
    return this.#confirmed.expiry.monotonic
  }

  /** Handles an entry of the watch that does not name this holder. The lease is lost unless the entry is older. */
  onContradiction(version: Hlc | undefined, reason: LeaseLossReason): void {
    if (version === undefined || version.compareTo(this.token) > 0) this.#lose(reason)
  }

  /** Handles a live watch that shows this holder. @param hadGap - whether the watch was interrupted before */
  onConfirmation(version: Hlc | undefined, hadGap: boolean): void {
    if (this.#loseIfExpired()) return
    const isNewer = version !== undefined && version.compareTo(this.#confirmed.version) > 0
    // A newer version that names this holder but is not from its renewals: the key was deleted and acquired again.
    if (isNewer && this.#inFlight === 0 && !this.#isOutcomeUnknown) this.#lose('revoked')
    else if (hadGap || this.#isOverdue) this.#claim()
  }

  end(): void {
    this.#renewal.cancel()
    this.#expiry.cancel()
    this.#renewals.unsubscribe()
  }

  #armExpiry(): void {
    this.#expiry.set(this.expiresAtMonotonic - this.#host.clock.monotonic(), () => this.#lose('expired'))
  }

  #armRenewal(delayMs = this.#host.renewEvery): void {
    this.#renewal.set(delayMs, () => this.#renew())
  }

  /**
   * The delay until the first renewal. It counts from the sending of the request, as the expiry does, so after a slow
   * response the renewal may be due already.
   */
  get #firstRenewalMs(): number {
    const { clock, duration, renewEvery } = this.#host
    const sentAt = this.expiresAtMonotonic - duration
    return Math.max(0, sentAt + renewEvery - clock.monotonic())
  }

  #renew(): void {
    if (this.#loseIfExpired()) return
    if (this.#host.isWatched()) {
      this.#claim()
      return
    }
    this.#isOverdue = true
    this.#armRenewal()
  }

  #claim(): void {
    this.#isOverdue = false
    this.#armRenewal()
    this.#inFlight++
    const renewal = this.#host
      .claim()
      .pipe(finalize(() => this.#inFlight--))
      .subscribe({
        next: claim => this.#onResult(claim),
        error: error => this.#onError(error),
      })
    this.#renewals.add(renewal)
  }

  #onResult(claim: ClaimResult): void {
    if (this.#loseIfExpired()) return
    if (!claim.applied) this.#lose('taken')
    else if (claim.version.compareTo(this.#confirmed.version) > 0) this.#extend(claim)
  }

  #extend(claim: ClaimResult): void {
    const isLonger = claim.expiry.monotonic > this.expiresAtMonotonic
    this.#confirmed = claim
    this.#lastError = undefined
    this.#isOutcomeUnknown = false
    if (!isLonger) return
    this.#armExpiry()
    this.#host.renewed()
  }

  #onError(error: unknown): void {
    this.#lastError = error
    this.#isOutcomeUnknown ||= error instanceof OutcomeUnknownError
    if (!isTransientError(error)) this.#lose('ended')
  }

  /**
   * Loses the lease if it has expired, and returns whether it has. The check is needed because a blocked event loop may
   * run other callbacks before the overdue timer.
   */
  #loseIfExpired(): boolean {
    if (!hasExpired(this.#confirmed.expiry, this.#host.clock)) return false
    this.#lose('expired')
    return true
  }

  #lose(reason: LeaseLossReason): void {
    this.end()
    this.#host.lost(reason, this.#lastError)
  }
}
