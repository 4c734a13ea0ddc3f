import type { Publication } from './publication.js'
import type { Complain, SessionModel } from './session-model.js'

/** A last will. */
interface Will {
  readonly publication: Publication
  readonly session: SessionModel
  /** ms */
  readonly dueAt: number
}

/** The last wills of those who are away: when each of them is due (MQTT 5.0, section 3.1.3.2.2). */
export class WillModel {
  readonly #pending = new Map<number, Will>()
  readonly #complain: Complain

  constructor(complain: Complain) {
    this.#complain = complain
  }

  /** A client is gone without a word. */
  left(publication: Publication, session: SessionModel, dueAt: number): void {
    this.#pending.set(publication.number, { publication, session, dueAt })
  }

  /** A client is back before its will was due. */
  returned(session: SessionModel, now: number): void {
    for (const [number, will] of this.#pending)
      if (will.session === session && will.dueAt > now) this.#pending.delete(number)
  }

  /** The broker publishes a will. */
  published({ number }: Publication, now: number, isEnding: (session: SessionModel) => boolean): void {
    const will = this.#pending.get(number)
    this.#pending.delete(number)
    if (will === undefined) this.#complain(`the will ${number} was published, and should not have been`)
    else if (will.dueAt !== now && !isEnding(will.session)) this.#complain(`the will ${number} was published too early`)
  }

  /** A broker that shuts down publishes none. */
  forget(): void {
    this.#pending.clear()
  }

  /** Nothing that is due has been forgotten. */
  settle(now: number): void {
    for (const [number, { dueAt, session }] of this.#pending) {
      if (session.doubtful || (dueAt > now && !session.ended)) continue
      this.#pending.delete(number)
      this.#complain(`the will ${number} was not published when it was due`)
    }
  }
}
