import { isTrue, type Knowledge } from '../../spec/judges/outcomes.js'
import type { Complaints } from '../complaints.js'
import { now } from '../now.js'
import { Numbers } from './numbers.js'

/** What became of a message, as its sender was told, and what that says. */
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

/** Group of what is sent to the hub itself: an event. */
export const EVENT = -1

/** Every message there is: who sent it, what he was told, and where it has its place in its group. */
export class Ledger {
  #authors = new Numbers()
  #groups = new Numbers()
  #sentAt = new Numbers()
  #outcomes = new Numbers()
  /** How often the hub published it, as its witness saw, or took it. */
  #published = new Numbers()
  #places = new Numbers()
  #lives = new Numbers()
  #ackedAt = new Numbers()
  /** When each life of the hub was over. */
  #ends = new Numbers()
  /** Acknowledged messages that only the witness of a hub that ended can have missed. */
  unseen = 0
  /** Messages in the order the hub published them, by its life and group. */
  #orders: Map<string, Numbers> = new Map()
  #complaints

  constructor(complaints: Complaints) {
    this.#complaints = complaints
  }

  get size() {
    return this.#authors.length
  }

  /**
   * A message that is about to be sent; its number.
   *
   * @param author - of whom its messages come in order
   */
  register(author: number, group: number) {
    this.#authors.push(author)
    this.#groups.push(group)
    this.#outcomes.push(0)
    this.#published.push(0)
    this.#places.push(-1)
    this.#lives.push(-1)
    this.#ackedAt.push(Number.NaN)
    return this.#sentAt.push(now())
  }

  /** @param id -  @param outcome */
  settle(id: number, outcome: Outcome) {
    this.#outcomes.set(id, OUTCOMES.indexOf(outcome))
    if (outcome === 'acked') this.#ackedAt.set(id, now())
  }

  /** A life of the hub is over, and with it what waited for the witnesses. */
  end() {
    this.#ends.push(now())
  }

  /** @param life - of the hub, from 1 on */
  isOver(life: number) {
    return life <= this.#ends.length
  }

  /** The hub has taken an event. */
  took(id: number) {
    this.#published.set(id, this.#published.at(id) + 1)
  }

  /**
   * The hub has published a message.
   *
   * @param life - of the hub
   */
  publish(life: number, group: number, id: number) {
    this.took(id)
    this.#lives.set(id, life)
    this.#places.set(id, this.orderOf(life, group).push(id))
  }

  /** @param life -  @param group */
  orderOf(life: number, group: number) {
    const key = `${life} ${group}`
    const order = this.#orders.get(key) ?? new Numbers()
    this.#orders.set(key, order)
    return order
  }

  /** Place among the messages of its group in a life of the hub; -1 if there is none. @param id -  @param life */
  placeOf(id: number, life: number) {
    return this.#lives.at(id) === life ? this.#places.at(id) : -1
  }

  sentAt(id: number) {
    return this.#sentAt.at(id)
  }

  /** How many had each outcome. */
  get tally() {
    const counts = new Map(OUTCOMES.map(outcome => [outcome, 0]))
    for (const index of this.#outcomes.all) {
      const outcome = OUTCOMES[index] ?? 'pending'
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
    return Object.fromEntries(counts) as Record<Outcome, number>
  }

  /** Whether what the senders were told is true, and the order theirs. */
  judge() {
    for (let id = 0; id < this.size; id++) this.#judgeMessage(id)
    for (const [key, order] of this.#orders) {
      const latest: Map<number, number> = new Map()
      for (const id of order.all) {
        const author = this.#authors.at(id)
        if ((latest.get(author) ?? -1) >= id)
          this.#complaints.add('order of a sender', `${id} in life and group ${key}`)
        latest.set(author, id)
      }
    }
  }

  #judgeMessage(id: number) {
    const outcome = OUTCOMES[this.#outcomes.at(id)] ?? 'pending'
    const times = this.#published.at(id)
    const what = `${this.#groups.at(id) === EVENT ? 'event' : 'message'} ${id}, ${outcome}, taken ${times} times`
    if (outcome === 'pending') this.#complaints.add('no outcome', what)
    if (outcome === 'acked' && times === 0 && this.#mayBeUnseen(id)) this.unseen++
    else if (!isTrue(KNOWN[outcome], times)) this.#complaints.add('an outcome that is not true', what)
  }

  /**
   * Whether the hub may have ended between the acknowledgement and the copy of its witness: it does not wait for those who
   * are slow then. Not when the witness saw something that was sent later.
   */
  #mayBeUnseen(id: number) {
    const [group, sentAt, ackedAt] = [this.#groups.at(id), this.#sentAt.at(id), this.#ackedAt.at(id)]
    const ended = this.#ends.all.findIndex(at => at >= sentAt)
    if (group === EVENT || ended < 0) return false
    if (this.#ends.at(ended) < ackedAt) return true
    return !this.orderOf(ended + 1, group).all.some(later => this.#sentAt.at(later) >= ackedAt)
  }
}
