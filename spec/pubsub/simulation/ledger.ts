import { isPossible, knowledgeOf } from '../../../harness/judges/outcomes.js'
import type { DataFrame } from '../../../src/pubsub/hub/shared-codec.js'
import type { Payload } from '../../../src/pubsub/wire/frames.js'
import { JsonText } from '../../../src/pubsub/wire/json.js'

/** Returns the id of a message or an event. The id is the entire data, which clients send as JSON. */
export const idIn = ({ data }: Payload): number => Number(data instanceof JsonText ? data.value : data)

/** A message that the hub queued for a session, whose index is its sequence id minus one. */
export interface QueuedMessage {
  readonly id: number
  /** The message's group, undefined for a server message. */
  readonly group: string | undefined
  readonly at: number
  /** Whether the session has left the group since. It may be a member again. */
  hasLeft: boolean
}

/** A message or an event that a client sent. */
export interface SentMessage {
  readonly id: number
  readonly kind: 'message' | 'event'
  readonly sender: string
  readonly how: 'plain' | 'noEcho' | 'atLeastOnce' | 'noAck'
  /** `acked`, or the error's code. */
  outcome: string
  /**
   * Returns whether the message was in flight when its session was lost, its timeout expired or its client was closed.
   */
  isExcused: () => boolean
}

/** The newest published message of a sender, with the session in which that message was sent. */
interface LatestPublished {
  readonly id: number
  readonly session: string
}

/** The ground truth of the hub, independent of what the clients believe. */
export class Ledger {
  readonly sent = new Map<number, SentMessage>()
  readonly complaints: string[] = []
  readonly #queued = new Map<string, QueuedMessage[]>()
  readonly #times = new Map<number, number>()
  readonly #youngest = new Map<string, LatestPublished>()
  /** Messages that were published after newer messages of a later session. */
  readonly #late: SentMessage[] = []
  #lastId = 0

  nextId(): number {
    return ++this.#lastId
  }

  complain(what: string): void {
    this.complaints.push(what)
  }

  /** Records a published message. `from` is the session of the sending client, if there is one. */
  onPublished(frame: DataFrame, sessions: readonly string[], at: number, from: string): void {
    const id = idIn(frame.payload)
    const group = frame.type === 'groupMessage' ? frame.group : undefined
    for (const session of sessions) this.queuedFor(session).push({ id, group, at, hasLeft: false })
    const sent = this.sent.get(id)
    if (sent && !this.#times.has(id)) this.#judgeOrder(sent, from)
    this.processedOnceMore(id)
  }

  /** Records a membership that ended on request. */
  onLeft(session: string, group: string): void {
    for (const queued of this.queuedFor(session)) if (queued.group === group) queued.hasLeft = true
  }

  processedOnceMore(id: number): void {
    this.#times.set(id, this.timesOf(id) + 1)
  }

  timesOf(id: number): number {
    return this.#times.get(id) ?? 0
  }

  queuedFor(session: string): QueuedMessage[] {
    const known = this.#queued.get(session)
    if (known) return known
    const queued: QueuedMessage[] = []
    this.#queued.set(session, queued)
    return queued
  }

  /** Checks the outcomes that senders received. */
  judgeSent(): void {
    for (const sent of this.sent.values()) {
      const times = this.timesOf(sent.id)
      if (!isConsistent(sent, times))
        this.complain(`${nameOf(sent)} ended as ${sent.outcome}, but was processed ${times} times`)
      if (sent.outcome === 'acked' && sent.how !== 'noAck' && this.#late.includes(sent)) {
        this.complain(`${nameOf(sent)} was published after a newer one of a later session`)
      }
      if (sent.outcome === 'outcome-unknown' && !sent.isExcused()) this.complain(`${nameOf(sent)} has a known outcome`)
    }
  }

  /**
   * Checks the order of publication. A message in flight when its session was lost may be late, unless its sender
   * received an ack.
   */
  #judgeOrder(sent: SentMessage, session: string): void {
    const { id, sender } = sent
    const youngest = this.#youngest.get(sender)
    if (youngest === undefined || id > youngest.id) this.#youngest.set(sender, { id, session })
    else if (session < youngest.session) this.#late.push(sent)
    else this.complain(`${nameOf(sent)} was published after a newer one`)
  }
}

const nameOf = ({ kind, id, sender, how }: SentMessage): string => `${kind} ${id} of ${sender} (${how})`

/** Returns whether an outcome allows the message to have been processed this many times. */
function isConsistent({ outcome, how }: SentMessage, times: number): boolean {
  const known = knowledgeOf(outcome)
  if (known === undefined) return false
  // A message without an ack may be lost, and an at-least-once message may be duplicated.
  const knowledge = known === 'done' && how === 'noAck' ? 'open' : known
  return isPossible(knowledge, how === 'atLeastOnce' && knowledge !== 'not done' ? Math.min(times, 1) : times)
}
