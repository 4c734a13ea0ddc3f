import type { Pending } from './request.js'

/**
 * Writes that were sent on an earlier connection and have no answer yet, by what they are about. In a session that was kept
 * their answers may still come. But requests about one thing are answered in their order, and so are messages of one
 * topic delivered: once something is answered that was sent later, none will.
 *
 * @example
 * ```ts
 * earlier.begin(sent)
 * for (const subject of earlier.subjects) ask(subject)
 * for (const write of earlier.take(answered.subject)) fail(write)
 * ```
 */
export class EarlierWrites {
  #writes = new Map<string, Pending[]>()

  /** What each is about that has to be asked for. */
  get subjects(): readonly [subject: string, writes: readonly Pending[]][] {
    return Array.from(this.#writes)
  }

  /** A connection begins, with these still on the wire. */
  begin(sent: readonly Pending[]): void {
    this.#writes = new Map()
    for (const pending of sent) {
      const { subject } = pending.request
      if (subject === undefined) continue
      const others = this.#writes.get(subject)
      if (others) others.push(pending)
      else this.#writes.set(subject, [pending])
    }
  }

  /** Those about something, of which nothing will be heard any more; they are forgotten here. */
  take(subject: string | undefined): readonly Pending[] {
    if (subject === undefined || this.#writes.size === 0) return NONE
    const writes = this.#writes.get(subject)
    this.#writes.delete(subject)
    return writes ?? NONE
  }
}

const NONE: readonly Pending[] = []
