import { SlotMap } from '../../core/util/collections.js'
import type { PendingRequest } from './request.js'

/**
 * Maximum number of requests without a response on a connection. The store ends a session with more than 10,000
 * unacknowledged messages, and a write of a watched key causes two, its response and a notification.
 */
const MAX_UNANSWERED = 4_000

/** The requests without a response, by the slot in their correlation data. */
export class SentRequests {
  readonly #slots = new SlotMap<PendingRequest>()
  /** The requests of this connection. */
  readonly #unanswered = new Set<PendingRequest>()
  /** The requests of this connection that nothing awaits any longer, but the store may still respond to. */
  readonly #cancelled = new Set<PendingRequest>()

  /** The number of requests that are not cancelled. */
  get size(): number {
    return this.#slots.size - this.#cancelled.size
  }

  /** The requests that are not cancelled, in the order of sending. */
  get inOrder(): PendingRequest[] {
    return this.#slots.values.filter(pending => !this.#cancelled.has(pending)).sort((a, b) => (a.id ?? 0) - (b.id ?? 0))
  }

  /** Returns whether further requests must wait for responses. @param now - monotonic ms */
  isFull(now: () => number): boolean {
    if (this.#unanswered.size < MAX_UNANSWERED) return false
    const [oldest] = this.#cancelled
    if (oldest && this.hasExpired(now)) this.delete(oldest)
    return this.#unanswered.size >= MAX_UNANSWERED
  }

  /** Returns whether the store will no longer respond to the oldest cancelled request. @param now - monotonic ms */
  hasExpired(now: () => number): boolean {
    const [oldest] = this.#cancelled
    return oldest !== undefined && now() >= oldest.expiresAt
  }

  get(slot: number): PendingRequest | undefined {
    return this.#slots.get(slot)
  }

  /** Adds a request and returns its slot. */
  add(pending: PendingRequest): number {
    this.#unanswered.add(pending)
    return this.#slots.add(pending)
  }

  delete(pending: PendingRequest): void {
    this.#slots.delete(pending.slot)
    this.#unanswered.delete(pending)
    this.#cancelled.delete(pending)
  }

  /** Drops a request. If the store may still respond on this connection, the request counts until its timeout. */
  cancel(pending: PendingRequest): void {
    if (this.#unanswered.has(pending)) this.#cancelled.add(pending)
    else this.delete(pending)
  }

  isCancelled(pending: PendingRequest): boolean {
    return this.#cancelled.has(pending)
  }

  disconnected(): void {
    for (const { slot } of this.#cancelled) this.#slots.delete(slot)
    this.#cancelled.clear()
    this.#unanswered.clear()
  }
}
