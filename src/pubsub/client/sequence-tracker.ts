/** With so many messages or bytes received since the last one, a sequence ack is due at once; otherwise after so many ms. */
const COUNT = 100
const BYTES = 1024 * 1024
const DELAY = 1_000

/**
 * What has been received in a session: which messages are new, and when to tell the hub. A hub keeps at most 1,000
 * messages or 16 MB that are not acknowledged, then it ends the session ("Limits of reliable clients"); acknowledging by
 * count and by bytes as well as by time stays far from that in any burst. Pure; times in ms.
 */
export class SequenceTracker {
  #largest = 0n
  #count = 0
  #bytes = 0
  #dueAt = Number.POSITIVE_INFINITY

  /** When {@link take} gives a number next, if nothing more arrives. */
  get deadline(): number {
    return this.#dueAt
  }

  /**
   * Records a number before anything else is done with its message. Whether it is new: a number up to the largest one
   * was redelivered, and only has to be acknowledged again ("Subscriber": record the largest, drop the rest).
   */
  record(sequenceId: bigint, size: number, now: number): boolean {
    const isNew = sequenceId > this.#largest
    if (isNew) this.#largest = sequenceId
    this.#count++
    this.#bytes += size
    this.#dueAt = this.#count >= COUNT || this.#bytes >= BYTES ? now : Math.min(this.#dueAt, now + DELAY)
    return isNew
  }

  /** The number to acknowledge, when it is time; it covers all before it. */
  take(now: number): bigint | undefined {
    if (this.#dueAt > now) return undefined
    this.#settle()
    return this.#largest
  }

  /** The socket was lost, and what was acknowledged on it may be lost as well: a recovered one starts with it. */
  resume(now: number): void {
    this.#settle()
    if (this.#largest > 0n) this.#dueAt = now
  }

  /** Nothing can be acknowledged without a socket. */
  suspend(): void {
    this.#settle()
  }

  /** Another session counts from 1 again. */
  reset(): void {
    this.#settle()
    this.#largest = 0n
  }

  #settle(): void {
    this.#count = 0
    this.#bytes = 0
    this.#dueAt = Number.POSITIVE_INFINITY
  }
}
