import { findDeliveryViolations } from '../../../harness/judges/delivery.js'
import type { GroupMessage, ServerMessage } from '../../../src/pubsub/client/events.js'
import type { Ledger, QueuedMessage } from './ledger.js'

interface SessionVisit {
  readonly session: string
  /** The sequence ids of received messages, in order. */
  readonly numbers: number[]
}

/**
 * Checks the guarantees of one subscription, message by message. All messages queued for the session arrive once, in
 * order and without gaps, and a lost session is reported.
 */
export class DeliveryChecker {
  readonly group: string | undefined
  #gaps = 0
  /** Whether a gap was reported since the last message. */
  #hasGap = false
  /** The time at which the subscription began, in ms. */
  readonly #subscribedAt: number
  readonly #name: string
  readonly #ledger: Ledger
  readonly #visits: SessionVisit[] = []

  constructor(ledger: Ledger, name: string, group: string | undefined, since: number) {
    this.#ledger = ledger
    this.#name = name
    this.group = group
    this.#subscribedAt = since
  }

  onGap(): void {
    this.#gaps++
    this.#hasGap = true
  }

  /** Checks a message and the session in which the message arrived. */
  onMessage({ sequenceId, data }: GroupMessage | ServerMessage, session: string): void {
    const number = Number(sequenceId)
    const queued = this.#ledger.queuedFor(session)[number - 1]
    if (queued?.id !== data || queued?.group !== this.group) {
      this.#complain(`got ${data} as ${number} of session ${Number(session)}, which the hub never sent it`)
      return
    }
    this.#visitOf(session).numbers.push(number)
    this.#hasGap = false
  }

  /**
   * Checks the subscription at the end of the simulation. `session` is the remaining session, if the subscription
   * remains.
   */
  judge(session: string | undefined, sessionsLost: number): void {
    for (const visit of this.#visits) this.#judgeVisit(visit, visit.session === session)
    if (session !== undefined && !this.#visits.some(visit => visit.session === session)) {
      this.#judgeVisit({ session, numbers: [] }, true)
    }
    if (this.group === undefined) return
    if (this.#gaps > sessionsLost) this.#complain(`${sessionsLost} sessions lost, received ${this.#gaps} gaps`)
  }

  #visitOf(session: string): SessionVisit {
    const latest = this.#visits.at(-1)
    if (latest?.session === session) return latest
    if (latest && !this.#hasGap && this.#wasMember(latest)) this.#complain('is in a new session and received no gap')
    if (this.#visits.some(visit => visit.session === session)) this.#complain(`is back in session ${Number(session)}`)
    const visit: SessionVisit = { session, numbers: [] }
    this.#visits.push(visit)
    return visit
  }

  /**
   * Returns whether the subscription was a member during the visit. Messages queued before a leave belong to an earlier
   * subscription, so that this subscription may not have been joined when the session was lost.
   */
  #wasMember({ session, numbers }: SessionVisit): boolean {
    const queued = this.#ledger.queuedFor(session)
    return this.group !== undefined && numbers.some(number => queued[number - 1]?.hasLeft === false)
  }

  #judgeVisit({ session, numbers }: SessionVisit, isComplete: boolean): void {
    const last = isComplete ? Number.POSITIVE_INFINITY : (numbers.at(-1) ?? 0)
    const isRequired = ({ group, at }: QueuedMessage, number: number): boolean =>
      group === this.group && at > this.#subscribedAt && number < last
    const required = this.#ledger.queuedFor(session).flatMap((queued, i) => (isRequired(queued, i + 1) ? [i + 1] : []))
    for (const wrong of findDeliveryViolations(required, numbers))
      this.#complain(`${wrong} in session ${Number(session)}`)
  }

  #complain(what: string): void {
    this.#ledger.complain(`${this.#name} ${this.group ?? 'from the server'}: ${what}`)
  }
}
