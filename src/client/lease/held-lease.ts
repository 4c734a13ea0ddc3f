import { finalize, type Observable, Subscription } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { Clock } from '../../core/util/clock.js'
import { OutcomeUnknownError } from '../../core/util/errors.js'
import { type Claim, isOver, isPassing } from './acquire-or-renew.js'
import type { LeaseLossReason } from './lease-state.js'

/** What a tenure needs, and whom it tells. */
export interface TenurePort {
  readonly clock: Clock
  /** ms */
  readonly renewEvery: number
  /** Claims the lock key once more. */
  readonly claim: () => Observable<Claim>
  /** Whether the watch of the lock key would tell if somebody else came in between. */
  readonly isWatched: () => boolean
  readonly renewed: () => void
  readonly lost: (reason: LeaseLossReason, cause?: unknown) => void
}

/**
 * One holding of a lease, from its acquisition until it is lost or ended. Renewals go out at their times whatever became
 * of those before: an answer may be late, or lost with a connection. It is over as soon as the time counted from the
 * last confirmed renewal is, whatever the network does.
 *
 * Nothing is renewed while the lock key is not watched. Its answer would not tell whether the key was still ours or was
 * gone, and another's in between, whose token is newer than the one of this holding.
 */
export class HeldLease {
  readonly token: Hlc
  readonly #port: TenurePort
  readonly #renewals = new Subscription()
  #underWay = 0
  /** Whether a renewal was sent since the last confirmed one whose answer is lost: it may have been done. */
  #doubt = false
  #confirmed: Claim
  #cancelRenewal: () => void
  #cancelExpiry: () => void
  #trouble: unknown

  constructor(first: Claim, port: TenurePort) {
    this.token = first.version
    this.#port = port
    this.#confirmed = first
    this.#cancelExpiry = this.#armExpiry()
    this.#cancelRenewal = this.#armRenewal()
  }

  /** ms on the monotonic clock. */
  get expiresAtMonotonic(): number {
    return this.#confirmed.expiry.monotonic
  }

  /** The watch says that the lock key is not ours, or was not: unless that was before this holding, it is lost. */
  contradicted(version: Hlc | undefined, reason: LeaseLossReason): void {
    if (version === undefined || version.compareTo(this.token) > 0) this.#lose(reason)
  }

  /** The watch can be relied on, maybe after a gap, and says that the lock key is ours with this version. */
  watched(version: Hlc | undefined, gap: boolean): void {
    if (this.#expired()) return
    const isNewer = version !== undefined && version.compareTo(this.#confirmed.version) > 0
    // Written in our name since, but by no renewal we know of: it was gone, and taken anew.
    if (isNewer && this.#underWay === 0 && !this.#doubt) this.#lose('revoked')
    else if (gap) this.#claim()
  }

  /** Ends it without a word. */
  end(): void {
    this.#cancelRenewal()
    this.#cancelExpiry()
    this.#renewals.unsubscribe()
  }

  #armExpiry(): () => void {
    const { clock } = this.#port
    return clock.schedule(this.expiresAtMonotonic - clock.monotonic(), () => this.#lose('expired'))
  }

  #armRenewal(): () => void {
    const { clock, renewEvery } = this.#port
    return clock.schedule(renewEvery, () => this.#renew())
  }

  #renew(): void {
    if (this.#expired()) return
    if (this.#port.isWatched()) this.#claim()
    else this.#cancelRenewal = this.#armRenewal()
  }

  #claim(): void {
    this.#cancelRenewal()
    this.#cancelRenewal = this.#armRenewal()
    this.#underWay++
    const renewal = this.#port
      .claim()
      .pipe(finalize(() => this.#underWay--))
      .subscribe({
        next: claim => this.#answered(claim),
        error: error => this.#troubled(error),
      })
    this.#renewals.add(renewal)
  }

  #answered(claim: Claim): void {
    if (this.#expired()) return
    if (!claim.applied) this.#lose('taken')
    else if (claim.version.compareTo(this.#confirmed.version) > 0) this.#extend(claim)
  }

  #extend(claim: Claim): void {
    const isLonger = claim.expiry.monotonic > this.expiresAtMonotonic
    this.#confirmed = claim
    this.#trouble = undefined
    this.#doubt = false
    if (!isLonger) return
    this.#cancelExpiry()
    this.#cancelExpiry = this.#armExpiry()
    this.#port.renewed()
  }

  #troubled(error: unknown): void {
    this.#trouble = error
    this.#doubt ||= error instanceof OutcomeUnknownError
    if (!isPassing(error)) this.#lose('ended')
  }

  /** A blocked event loop may run other things before the timer that was due. */
  #expired(): boolean {
    if (!isOver(this.#confirmed.expiry, this.#port.clock)) return false
    this.#lose('expired')
    return true
  }

  #lose(reason: LeaseLossReason): void {
    this.end()
    this.#port.lost(reason, this.#trouble)
  }
}
