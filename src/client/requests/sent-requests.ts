import type { Clock } from '../../core/util/clock.js'
import { SlotMap } from '../../core/util/collections.js'
import { DeadlineQueue } from '../../core/util/deadlines.js'
import { DeadlineTimer } from '../../core/util/timeouts.js'
import type { PendingRequest } from './request.js'

/**
 * Maximum number of requests without a response on a connection. The store ends a session with more than 10,000
 * unacknowledged messages, and a write of a watched key causes two, its response and a notification.
 */
const MAX_UNANSWERED = 4_000

/** The requests without a response, by the slot in their correlation data. */
export class SentRequests {
  readonly #slots = new SlotMap<PendingRequest>()
  /** The number of requests of this connection. A set of them would double the garbage of pipelined requests. */
  #unanswered = 0
  #connectionNumber = 0
  /** The requests of this connection that nothing awaits any longer, but the store may still respond to. */
  readonly #cancelled = new DeadlineQueue<PendingRequest>()
  readonly #expiryTimer: DeadlineTimer

  /** @param expired - called when cancelled requests no longer count, because they have reached their timeout */
  constructor(clock: Clock, expired: () => void) {
    this.#expiryTimer = new DeadlineTimer(clock, () => {
      this.#deleteCancelled(clock.monotonic())
      expired()
    })
  }

  /** The number of requests that are not cancelled. */
  get size(): number {
    return this.#slots.size - this.#cancelled.size
  }

  /** The number of requests without a response on this connection. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** The requests that are not cancelled, in the order of sending. */
  get inOrder(): PendingRequest[] {
    return this.#slots.values.filter(({ expiry }) => !expiry).sort((a, b) => (a.id ?? 0) - (b.id ?? 0))
  }

  /** Whether further requests must wait for responses. */
  get isFull(): boolean {
    return this.#unanswered >= MAX_UNANSWERED
  }

  get(slot: number): PendingRequest | undefined {
    return this.#slots.get(slot)
  }

  /** Adds a request and returns its slot. */
  add(pending: PendingRequest): number {
    pending.connectionNumber = this.#connectionNumber
    this.#unanswered++
    return this.#slots.add(pending)
  }

  delete(pending: PendingRequest): void {
    this.#slots.delete(pending.slot)
    if (this.#isUnanswered(pending)) this.#unanswered--
    pending.connectionNumber = -1
    if (pending.expiry) this.#cancelled.remove(pending.expiry)
  }

  /** Drops a request. If the store may still respond on this connection, the request counts until its timeout. */
  cancel(pending: PendingRequest): void {
    if (this.#isUnanswered(pending)) pending.expiry = this.#cancelled.add(pending.expiresAt, pending)
    else this.delete(pending)
  }

  /** Sets the timer that makes room, or stops it if no request is queued, so that it does not outlive the requests. */
  awaitRoom(queuedCount: number): void {
    this.#expiryTimer.set(queuedCount ? this.#cancelled.earliest : Number.POSITIVE_INFINITY)
  }

  disconnected(): void {
    this.#deleteCancelled(Number.POSITIVE_INFINITY)
    this.#unanswered = 0
    this.#connectionNumber++
    this.awaitRoom(0)
  }

  #isUnanswered({ connectionNumber }: PendingRequest): boolean {
    return connectionNumber === this.#connectionNumber
  }

  #deleteCancelled(now: number): void {
    for (let due = this.#cancelled.takeDue(now); due !== undefined; due = this.#cancelled.takeDue(now)) this.delete(due)
  }
}
