import { isPossible, type Knowledge } from '../../spec/judges/outcomes.js'
import { now } from '../now.js'
import type { Violations } from '../violations.js'
import { Numbers } from './numbers.js'

/** The outcomes of a message as known to its sender, and their implications. */
const KNOWN = {
  pending: 'open',
  acked: 'done',
  unknown: 'open',
  timeout: 'not done',
  closed: 'not done',
  overflow: 'not done',
  cancelled: 'open',
  refused: 'not done',
} as const satisfies Record<string, Knowledge>
export type Outcome = keyof typeof KNOWN
const OUTCOMES = Object.keys(KNOWN) as Outcome[]

/** The group of messages to the hub itself, which are events. */
export const EVENT = -1

/** Keeps all messages with their sender, outcome, and place within the group. */
export class Ledger {
  #authors = new Numbers()
  #groups = new Numbers()
  #sentAt = new Numbers()
  #outcomes = new Numbers()
  /** The number of times that the hub published a message, as seen by the witness, or accepted an event. */
  #published = new Numbers()
  #positions = new Numbers()
  #runs = new Numbers()
  #ackedAt = new Numbers()
  /** The time when each run of the hub ended. */
  #ends = new Numbers()
  /** The number of acknowledged messages that only the witness of a stopped hub can have missed. */
  unseen = 0
  /** The messages in publication order, by run of the hub and group. */
  #orders: Map<string, Numbers> = new Map()
  #violations

  constructor(violations: Violations) {
    this.#violations = violations
  }

  get size() {
    return this.#authors.length
  }

  /**
   * Registers a message before it is sent. Returns the number of the message.
   *
   * @param author - sender whose messages arrive in order
   */
  register(author: number, group: number) {
    this.#authors.push(author)
    this.#groups.push(group)
    this.#outcomes.push(0)
    this.#published.push(0)
    this.#positions.push(-1)
    this.#runs.push(-1)
    this.#ackedAt.push(Number.NaN)
    return this.#sentAt.push(now())
  }

  settle(id: number, outcome: Outcome) {
    this.#outcomes.set(id, OUTCOMES.indexOf(outcome))
    if (outcome === 'acked') this.#ackedAt.set(id, now())
  }

  /** Records the end of a run of the hub, in which messages queued for its witnesses are lost. */
  recordHubEnd() {
    this.#ends.push(now())
  }

  /** @param run - run of the hub, counted from 1 */
  hasEnded(run: number) {
    return run <= this.#ends.length
  }

  recordAccepted(id: number) {
    this.#published.set(id, this.#published.at(id) + 1)
  }

  /**
   * Records a message published by the hub.
   *
   * @param run - run of the hub
   */
  recordPublished(run: number, group: number, id: number) {
    this.recordAccepted(id)
    this.#runs.set(id, run)
    this.#positions.set(id, this.orderOf(run, group).push(id))
  }

  orderOf(run: number, group: number) {
    const key = `${run} ${group}`
    const order = this.#orders.get(key) ?? new Numbers()
    this.#orders.set(key, order)
    return order
  }

  /** Returns the place of a message within its group in a run of the hub, or -1 if it has none. */
  positionOf(id: number, run: number) {
    return this.#runs.at(id) === run ? this.#positions.at(id) : -1
  }

  sentAt(id: number) {
    return this.#sentAt.at(id)
  }

  /** The number of messages per outcome. */
  get tally() {
    const counts = new Map(OUTCOMES.map(outcome => [outcome, 0]))
    for (const index of this.#outcomes.all) {
      const outcome = OUTCOMES[index] ?? 'pending'
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
    return Object.fromEntries(counts) as Record<Outcome, number>
  }

  /** Checks that the outcomes reported to senders are true, and that messages kept their order. */
  check() {
    for (let id = 0; id < this.size; id++) this.#checkMessage(id)
    for (const [key, order] of this.#orders) {
      const latest: Map<number, number> = new Map()
      for (const id of order.all) {
        const author = this.#authors.at(id)
        if ((latest.get(author) ?? -1) >= id)
          this.#violations.add('order of a sender', `${id} in life and group ${key}`)
        latest.set(author, id)
      }
    }
  }

  #checkMessage(id: number) {
    const outcome = OUTCOMES[this.#outcomes.at(id)] ?? 'pending'
    const times = this.#published.at(id)
    const what = `${this.#groups.at(id) === EVENT ? 'event' : 'message'} ${id}, ${outcome}, accepted ${times} times`
    if (outcome === 'pending') this.#violations.add('no outcome', what)
    if (outcome === 'acked' && times === 0 && this.#mayBeUnseen(id)) this.unseen++
    else if (!isPossible(KNOWN[outcome], times)) this.#violations.add('wrong outcome', what)
  }

  /**
   * Returns whether the hub may have ended between the acknowledgement of a message and the delivery to the witness,
   * because the hub does not wait for slow members. That is impossible if the witness saw a message sent later.
   */
  #mayBeUnseen(id: number) {
    const [group, sentAt, ackedAt] = [this.#groups.at(id), this.#sentAt.at(id), this.#ackedAt.at(id)]
    const ended = this.#ends.all.findIndex(at => at >= sentAt)
    if (group === EVENT || ended < 0) return false
    if (this.#ends.at(ended) < ackedAt) return true
    return !this.orderOf(ended + 1, group).all.some(later => this.#sentAt.at(later) >= ackedAt)
  }
}
