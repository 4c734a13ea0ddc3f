import type { PendingRequest } from './request.js'

const NONE: readonly PendingRequest[] = []

/**
 * Writes without a response from an earlier connection, by subject. Their responses may still arrive in a resumed
 * session. Requests for one subject are processed in order and messages of one topic are delivered in order, so no
 * response to such a write follows once a later request for the subject has its response.
 */
export class EarlierWrites {
  #writes = new Map<string, PendingRequest[]>()

  get subjects(): readonly [subject: string, writes: readonly PendingRequest[]][] {
    return Array.from(this.#writes)
  }

  reset(sent: readonly PendingRequest[]): void {
    this.#writes = new Map()
    for (const pending of sent) {
      const { subject } = pending.request
      if (subject === undefined) continue
      const others = this.#writes.get(subject)
      if (others) others.push(pending)
      else this.#writes.set(subject, [pending])
    }
  }

  /** Removes and returns the writes for a subject that will not get a response. */
  removeWrites(subject: string | undefined): readonly PendingRequest[] {
    if (subject === undefined || this.#writes.size === 0) return NONE
    const writes = this.#writes.get(subject)
    this.#writes.delete(subject)
    return writes ?? NONE
  }
}
