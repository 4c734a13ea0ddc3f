import { findDeliveryViolations } from './delivery.js'
import { isPossible, knowledgeOf } from './outcomes.js'
import type { Violations } from './violations.js'

/**
 * A record of a hub that is restarted, its witnesses and its clients. Times are in monotonic ms. `run` counts the starts
 * of the hub from 1. A witness is a member of one group whose link has no faults, so that it shows what was published.
 */
export type HubRecord =
  /** A message to a group, or an event to the hub if there is no group. The messages of an author arrive in order. */
  | {
      readonly type: 'sent'
      readonly id: number
      readonly author: number
      readonly group?: number | undefined
      readonly at: number
    }
  /** `outcome` is `acked`, `cancelled`, or the code of the error. */
  | { readonly type: 'ended'; readonly id: number; readonly outcome: string; readonly at: number }
  | { readonly type: 'event'; readonly id: number }
  | { readonly type: 'published'; readonly id: number; readonly run: number; readonly group: number }
  /** A run of the hub has ended. Messages queued for its witnesses are lost. */
  | { readonly type: 'hub ended'; readonly at: number }
  /** A client listens to a group in a session. `previous` is its membership in the session before, if any. */
  | ({ readonly type: 'membership'; readonly id: number; readonly previous?: number | undefined } & Membership)
  | { readonly type: 'joined'; readonly membership: number; readonly at: number }
  | { readonly type: 'gap'; readonly membership: number }
  | { readonly type: 'received'; readonly membership: number; readonly id: number }
  /** The membership lasted until all activity had ended. */
  | { readonly type: 'complete'; readonly membership: number }

interface Membership {
  readonly client: string
  readonly session: string
  readonly run: number
  readonly group: number
}

interface Message {
  readonly id: number
  readonly author: number
  readonly group: number | undefined
  readonly sentAt: number
  outcome: string | undefined
  ackedAt: number
  /** How often the hub published the message, as seen by its witness, or accepted the event. */
  times: number
  run: number
  /** The place within its group in this run. */
  position: number
}

interface ReceivingMembership extends Membership {
  joinedAt: number
  readonly received: number[]
  /** Whether the client must still report the loss of an earlier session. */
  isGapOwed: boolean
  isComplete: boolean
}

/** Checks what a hub, its witnesses and its clients recorded. */
export class HubJudge {
  /** The number of acknowledged messages that only the witness of a stopped hub can have missed. */
  unseen = 0
  readonly #violations: Violations
  readonly #messages = new Map<number, Message>()
  readonly #memberships = new Map<number, ReceivingMembership>()
  /** The published messages by run and group. */
  readonly #orders = new Map<string, Message[]>()
  /** The times at which the runs of the hub ended. */
  readonly #ends: number[] = []

  constructor(violations: Violations) {
    this.#violations = violations
  }

  add(record: HubRecord): void {
    if (record.type === 'hub ended') this.#ends.push(record.at)
    else if (record.type === 'sent') this.#addMessage(record)
    else if (record.type === 'membership') this.#addMembership(record)
    else if ('membership' in record) this.#addToMembership(record)
    else this.#addToMessage(record)
  }

  judge(): void {
    for (const message of this.#messages.values()) this.#judgeOutcome(message)
    for (const [name, order] of this.#orders) this.#judgeOrder(name, order)
    for (const membership of this.#memberships.values()) this.#judgeMembership(membership)
  }

  #addMessage({ id, author, group, at }: Extract<HubRecord, { type: 'sent' }>): void {
    const open = { outcome: undefined, ackedAt: Number.NaN, times: 0, run: 0, position: -1 }
    this.#messages.set(id, { id, author, group, sentAt: at, ...open })
  }

  #addToMessage(record: Extract<HubRecord, { type: 'ended' | 'event' | 'published' }>): void {
    const message = this.#messages.get(record.id)
    if (message === undefined) this.#violations.add('a message that was never sent', JSON.stringify(record))
    else if (record.type === 'ended') {
      message.outcome = record.outcome
      if (record.outcome === 'acked') message.ackedAt = record.at
    } else {
      message.times++
      if (record.type === 'event') return
      message.run = record.run
      message.position = this.#orderOf(record).push(message) - 1
    }
  }

  #addMembership({ id, previous, ...membership }: Extract<HubRecord, { type: 'membership' }>): void {
    const before = previous === undefined ? undefined : this.#memberships.get(previous)
    const isGapOwed = before !== undefined && (before.isGapOwed || before.received.length > 0)
    const open = { joinedAt: Number.POSITIVE_INFINITY, received: [], isComplete: false }
    this.#memberships.set(id, { ...membership, ...open, isGapOwed })
  }

  #addToMembership(record: Extract<HubRecord, { membership: number }>): void {
    const membership = this.#memberships.get(record.membership)
    if (membership === undefined) return
    if (record.type === 'joined') membership.joinedAt = record.at
    else if (record.type === 'gap') membership.isGapOwed = false
    else if (record.type === 'received') membership.received.push(record.id)
    else membership.isComplete = true
  }

  #orderOf({ run, group }: { readonly run: number; readonly group: number }): Message[] {
    const name = `${group} in run ${run}`
    const order = this.#orders.get(name) ?? []
    this.#orders.set(name, order)
    return order
  }

  #judgeOutcome(message: Message): void {
    const { id, group, outcome, times } = message
    const what = `${group === undefined ? 'event' : 'message'} ${id}, ${outcome}, accepted ${times} times`
    const knowledge = outcome === undefined ? undefined : knowledgeOf(outcome)
    if (knowledge === undefined) this.#violations.add('no known outcome', what)
    else if (outcome === 'acked' && times === 0 && this.#mayBeUnseen(message)) this.unseen++
    else if (!isPossible(knowledge, times)) this.#violations.add('wrong outcome', what)
  }

  /**
   * Returns whether the hub may have ended between the acknowledgement of a message and the delivery to the witness,
   * because the hub does not wait for slow members. That is impossible if the witness saw a message sent later.
   */
  #mayBeUnseen({ group, sentAt, ackedAt }: Message): boolean {
    const ended = this.#ends.findIndex(at => at >= sentAt)
    if (group === undefined || ended < 0) return false
    if ((this.#ends[ended] ?? 0) < ackedAt) return true
    return !this.#orderOf({ run: ended + 1, group }).some(later => later.sentAt >= ackedAt)
  }

  #judgeOrder(name: string, order: readonly Message[]): void {
    const latest = new Map<number, number>()
    for (const { id, author } of order) {
      if ((latest.get(author) ?? -1) >= id) this.#violations.add('order of a sender', `${id} in group ${name}`)
      latest.set(author, id)
    }
  }

  /**
   * Checks that a client received all messages sent after it became a member, up to its last one, or all if the
   * membership lasted to the end.
   */
  #judgeMembership(membership: ReceivingMembership): void {
    const { client, session, run, group, received, joinedAt, isComplete, isGapOwed } = membership
    const about = `${client} in group ${group}, session ${session.slice(0, 6)}, ${received.length} messages received`
    const order = this.#orderOf(membership)
    const positions = received.map(id => {
      const message = this.#messages.get(id)
      return message?.run === run && message.group === group ? message.position : -1
    })
    // A stopping hub does not wait for a slow witness.
    if (run <= this.#ends.length) while (positions.at(-1) === -1) positions.pop()
    if (positions.includes(-1)) this.#violations.add('not seen by the witness', about)
    const known = positions.filter(position => position >= 0)
    const first = known[0] ?? order.length
    const last = isComplete ? order.length - 1 : (known.at(-1) ?? -1)
    const required = order.flatMap(({ sentAt }, at) => ((at >= first || sentAt > joinedAt) && at <= last ? [at] : []))
    for (const wrong of findDeliveryViolations(required, known)) this.#violations.add('delivery', `${about}: ${wrong}`)
    if (isComplete && isGapOwed) this.#violations.add('unreported loss', about)
  }
}
