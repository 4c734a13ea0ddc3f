import { EMPTY, type Observable, type Subscriber, Subscription } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { backoff } from '../../core/util/backoff.js'
import { ClosedError } from '../../core/util/errors.js'
import type { ClientHost } from '../connect/client.js'
import { bytes } from '../keys/codec.js'
import { Key } from '../keys/key.js'
import { KeySource } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import type { Entry } from '../watch/watch-state.js'
import {
  acquireOrRenew,
  type Claim,
  type Claimant,
  holderOf,
  isOver,
  isPassing,
  releaseLease,
} from './acquire-or-renew.js'
import { HeldLease } from './held-lease.js'
import { type LeaseTerms, uniqueHolder } from './lease-options.js'
import { type LeaseLossReason, LeaseLostError, type LeaseState, LockKeyError } from './lease-state.js'

/** What the watch of the lock key said last. */
interface Seen {
  /** Missing when it is free. */
  readonly holder: string | undefined
  readonly version: Hlc | undefined
}

/**
 * One subscriber of a lease: asks for it, keeps it, waits for it. It waits for the watch of the lock key; only when
 * nothing was heard of the holder for the length of a lease, as when a store does not tell that a key ran out, it asks.
 */
export class LeaseCandidate {
  readonly #key: KeyName
  readonly #terms: LeaseTerms
  readonly #host: ClientHost
  readonly #subscriber: Subscriber<LeaseState>
  readonly #holder: string
  readonly #acquireBackoff: AcquireBackoff
  #heldLease: HeldLease | undefined
  #request = Subscription.EMPTY
  #cancelNext: () => void = () => undefined
  #seen: Seen | undefined
  /** Of the watch of the lock key. */
  #freshness: Freshness['state'] = 'connecting'
  /** The holder that was told last, while waiting. */
  #waitsFor: string | undefined
  /** Whether the lock key may hold our name, so that it has to be given back; true until an answer says otherwise. */
  #mayHold = false

  constructor(key: KeyName, terms: LeaseTerms, host: ClientHost, subscriber: Subscriber<LeaseState>) {
    this.#key = key
    this.#terms = terms
    this.#host = host
    this.#subscriber = subscriber
    this.#acquireBackoff = new AcquireBackoff(terms.duration)
    this.#holder = terms.holder ?? uniqueHolder(host.clientId)
  }

  start(): void {
    if (this.#host.isLeaving()) {
      this.#subscriber.error(new ClosedError())
      return
    }
    this.#host.closeHooks.add(this.#farewell)
    this.#subscriber.add(() => this.#stop())
    this.#ask()
    if (this.#subscriber.closed) return
    const key = new Key(new KeySource(this.#key, bytes, this.#host))
    this.#subscriber.add(
      key.entries$.subscribe({
        next: entry => this.#hear(entry),
        error: error => this.#fail(error),
        complete: () => this.#finish(),
      }),
    )
    // After the entries: what a watch shows as live it has told before. Its end is theirs.
    const watched = key.freshness$.subscribe({ next: freshness => this.#watched(freshness), error: () => undefined })
    this.#subscriber.add(watched)
  }

  readonly #farewell = (): Observable<never> => {
    this.#finish()
    return EMPTY
  }

  #ask(): void {
    this.#cancelNext()
    this.#request.unsubscribe()
    this.#mayHold = true
    this.#request = this.#claim().subscribe({
      next: answer => this.#answered(answer),
      error: error => this.#troubled(error),
    })
  }

  /** More than three at a time would not help: as long as they may take, no answer of theirs is too late. */
  #claim(): Observable<Claim> {
    const { duration, renewEvery } = this.#terms
    const most = this.#heldLease ? 3 * renewEvery : this.#host.timeout
    return acquireOrRenew(this.#claimant, { duration, timeout: Math.min(most, duration) })
  }

  #answered(answer: Claim): void {
    this.#acquireBackoff.answered()
    if (answer.applied) {
      this.#acquired(answer)
      return
    }
    this.#mayHold = false
    this.#wait(answer.version)
    this.#acquireBackoff.inVain()
  }

  get #claimant(): Claimant {
    return { host: this.#host, key: this.#key, holder: this.#holder }
  }

  #acquired(answer: Claim): void {
    const { clock } = this.#host
    if (isOver(answer.expiry, clock)) {
      this.#askAfter(this.#acquireBackoff.retry())
      return
    }
    const tenure = new HeldLease(answer, {
      clock,
      renewEvery: this.#terms.renewEvery,
      claim: () => this.#claim(),
      isWatched: () => this.#freshness === 'live',
      renewed: () => this.#held(tenure),
      lost: (reason, cause) => this.#lost(reason, cause),
    })
    this.#heldLease = tenure
    this.#held(tenure)
  }

  #troubled(error: unknown): void {
    if (!isPassing(error)) {
      this.#fail(error)
      return
    }
    this.#askAfter(this.#acquireBackoff.retry())
    // Without a connection there is nothing to tell that `status$` does not; a store that refuses no request would
    // notice. Last, for who is told may leave.
    if (error.code !== 'timeout') this.#host.report(error)
  }

  #lost(reason: LeaseLossReason, cause: unknown): void {
    this.#heldLease = undefined
    this.#tell({ status: 'lost', cause: this.#loss(reason, cause) })
    if (this.#subscriber.closed) return
    if (reason === 'ended') this.#fail(cause)
    else this.#wait(undefined)
  }

  #hear(entry: Entry<Uint8Array>): void {
    try {
      const holder = entry.value && holderOf(this.#key, entry.value)
      this.#seen = { holder, version: entry.version }
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#acquireBackoff.heard()
    const { holder, version } = this.#seen
    if (this.#heldLease) {
      if (holder !== this.#holder) this.#heldLease.contradicted(version, holder === undefined ? 'revoked' : 'taken')
      return
    }
    // What was asked may be answered yet; an answer that was lost with a connection is not.
    if (this.#request.closed) this.#wait(undefined)
    else if (holder === this.#holder && entry.source === 'resync') this.#ask()
  }

  #watched({ state }: Freshness): void {
    const hadGap = this.#freshness === 'stale' || this.#freshness === 'resyncing'
    this.#freshness = state
    if (state === 'live' && this.#seen?.holder === this.#holder) this.#heldLease?.watched(this.#seen.version, hadGap)
  }

  /** Waits for the holder, or not at all; `refused` is the version of the lock key that stood in the way. */
  #wait(refused: Hlc | undefined): void {
    const seen = this.#seen && !(refused && isOlder(this.#seen.version, refused)) ? this.#seen : undefined
    const other = seen?.holder === this.#holder ? undefined : seen?.holder
    const free = other === undefined && (seen !== undefined || refused === undefined)
    this.#askAfter(free ? this.#acquireBackoff.soon() : this.#acquireBackoff.patience())
    if (other !== undefined && other !== this.#waitsFor) this.#tell({ status: 'waiting', holder: other })
  }

  #askAfter(delay: number): void {
    this.#cancelNext()
    this.#cancelNext = this.#host.clock.schedule(delay, () => this.#ask())
  }

  #held({ token, expiresAtMonotonic }: HeldLease): void {
    this.#tell({ status: 'held', token, expiresAtMonotonic, holder: this.#holder })
  }

  #tell(state: LeaseState): void {
    this.#waitsFor = state.status === 'waiting' ? state.holder : undefined
    this.#subscriber.next(state)
  }

  #loss(reason: LeaseLossReason, cause: unknown): LeaseLostError {
    return new LeaseLostError(reason, this.#key.text, cause === undefined ? {} : { cause })
  }

  #fail(error: unknown): void {
    this.#drop(error)
    this.#subscriber.error(error)
  }

  #finish(): void {
    this.#drop(undefined)
    this.#subscriber.complete()
  }

  /** A holder hears that its lease is over before the stream ends. */
  #drop(cause: unknown): void {
    if (this.#heldLease === undefined) return
    this.#heldLease.end()
    this.#heldLease = undefined
    const reason = cause instanceof LockKeyError ? 'taken' : 'ended'
    this.#tell({ status: 'lost', cause: this.#loss(reason, cause) })
  }

  #stop(): void {
    this.#host.closeHooks.delete(this.#farewell)
    this.#cancelNext()
    this.#request.unsubscribe()
    this.#heldLease?.end()
    this.#heldLease = undefined
    if (!this.#mayHold) return
    this.#mayHold = false
    const { duration } = this.#terms
    releaseLease(this.#claimant, Math.min(this.#host.timeout, duration))
  }
}

/** A key that was not found has no version: the refusal came after that. */
const isOlder = (version: Hlc | undefined, refused: Hlc): boolean =>
  version === undefined || version.compareTo(refused) < 0

/** Those who wait come one after the other within this time, ms, when a lease becomes free. */
const HERD = 50
const FIRST_RETRY = 50
const LONGEST_PATIENCE = 60_000

/** When a contender asks next. Times in ms. */
class AcquireBackoff {
  readonly #duration: number
  #failures = 0
  #silences = 0

  /** @param duration - of the lease */
  constructor(duration: number) {
    this.#duration = duration
  }

  /** The store answered. */
  answered(): void {
    this.#failures = 0
  }

  /** It asked in vain, and heard nothing of the holder before. */
  inVain(): void {
    this.#silences++
  }

  /** There was news of the lock key. */
  heard(): void {
    this.#silences = 0
  }

  /** Until a lease that is free is asked for: not all at once. */
  soon(): number {
    return backoff(1, { initial: Math.min(HERD, this.#duration / 10) })
  }

  /**
   * Until silence of the holder is taken for its end; the longer it is held beyond our own length, the less often we
   * ask.
   */
  patience(): number {
    const longer = Math.min(this.#duration * 2 ** this.#silences, LONGEST_PATIENCE)
    return Math.max(this.#duration, longer) + this.soon()
  }

  /** Until a request that failed is tried again. */
  retry(): number {
    this.#failures++
    return backoff(this.#failures, { initial: FIRST_RETRY, max: this.#duration })
  }
}
