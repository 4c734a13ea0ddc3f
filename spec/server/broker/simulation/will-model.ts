import type { Publication } from './publication.js'
import type { ReportViolation, SessionModel } from './session-model.js'

interface Will {
  readonly publication: Publication
  readonly session: SessionModel
  /** In milliseconds. */
  readonly dueAt: number
}

/** The pending wills of offline clients (MQTT 5.0, section 3.1.3.2.2). */
export class WillModel {
  readonly #pending = new Map<number, Will>()
  readonly #reportViolation: ReportViolation

  constructor(reportViolation: ReportViolation) {
    this.#reportViolation = reportViolation
  }

  /** Called when a connection ends without a normal DISCONNECT. */
  onConnectionEnded(publication: Publication, session: SessionModel, dueAt: number): void {
    this.#pending.set(publication.number, { publication, session, dueAt })
  }

  onReconnected(session: SessionModel, now: number): void {
    for (const [number, will] of this.#pending)
      if (will.session === session && will.dueAt > now) this.#pending.delete(number)
  }

  onPublished({ number }: Publication, now: number, isEnding: (session: SessionModel) => boolean): void {
    const will = this.#pending.get(number)
    this.#pending.delete(number)
    if (will === undefined) this.#reportViolation(`the will ${number} was published unexpectedly`)
    else if (will.dueAt !== now && !isEnding(will.session))
      this.#reportViolation(`the will ${number} was published too early`)
  }

  /** Discards all wills, because a broker that shuts down publishes none. */
  discardAll(): void {
    this.#pending.clear()
  }

  checkOverdue(now: number): void {
    for (const [number, { dueAt, session }] of this.#pending) {
      if (session.mayHaveEnded || (dueAt > now && !session.isEnded)) continue
      this.#pending.delete(number)
      this.#reportViolation(`the will ${number} was not published in time`)
    }
  }
}
