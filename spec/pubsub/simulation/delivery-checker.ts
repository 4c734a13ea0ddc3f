import type { GroupMessage, ServerMessage } from '../../../src/pubsub/client/events.js'
import type { Ledger } from './ledger.js'

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
    const visit = this.#visitOf(session)
    const last = visit.numbers.at(-1) ?? 0
    if (number <= last) this.#complain(`got ${number} after ${last} in session ${Number(session)}`)
    visit.numbers.push(number)
    this.#hasGap = false
  }

  /**
   * Checks the subscription at the end of the simulation. `session` is the remaining session, if the subscription
   * remains.
   */
  judge(session: string | undefined, sessionsLost: number): void {
    for (const visit of this.#visits) this.#judgeHoles(visit, visit.session === session)
    if (session !== undefined && !this.#visits.some(visit => visit.session === session)) {
      this.#judgeHoles({ session, numbers: [] }, true)
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

  #judgeHoles({ session, numbers }: SessionVisit, complete: boolean): void {
    const received = new Set(numbers)
    const last = complete ? Number.POSITIVE_INFINITY : (numbers.at(-1) ?? 0)
    const missing = this.#ledger
      .queuedFor(session)
      .map(({ group, at }, i) => ({ number: i + 1, isOurs: group === this.group && at > this.#subscribedAt }))
      .filter(({ number, isOurs }) => isOurs && number < last && !received.has(number))
    const [first] = missing
    if (first) this.#complain(`missed ${missing.length} messages of session ${Number(session)}, first ${first.number}`)
  }

  #complain(what: string): void {
    this.#ledger.complain(`${this.#name} ${this.group ?? 'from the server'}: ${what}`)
  }
}
