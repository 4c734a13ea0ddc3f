import type { DataFrame } from '../../../src/pubsub/hub/shared-codec.js'
import type { Payload } from '../../../src/pubsub/wire/frames.js'
import { JsonText } from '../../../src/pubsub/wire/json.js'
import { isTrue, type Knowledge } from '../../judges/outcomes.js'

/** The number a message or an event is known by: all of its data, which clients send as JSON. */
export const idIn = ({ data }: Payload): number => Number(data instanceof JsonText ? data.value : data)

/** A message that the hub queued for a session; its place in the list is its number, less one. */
export interface Queued {
  readonly id: number
  /** Missing for one of the server. */
  readonly group: string | undefined
  readonly at: number
  /** The session has left the group since, and may be in it again. */
  left: boolean
}

/** A message or an event that a client sent. */
export interface Sent {
  readonly id: number
  readonly kind: 'message' | 'event'
  readonly sender: string
  readonly how: 'plain' | 'noEcho' | 'atLeastOnce' | 'noAck'
  /** How it ended: `acked`, or the code of its error. */
  outcome: string
  /** It was on its way when its session was lost, its time was over or its client was closed. */
  excused: () => boolean
}

/** What was published last of a sender, by its age, and in which of its sessions it was sent. */
interface Youngest {
  readonly id: number
  readonly session: string
}

/** All that truly happened at the hub, whatever clients believe. */
export class Ledger {
  readonly sent = new Map<number, Sent>()
  readonly complaints: string[] = []
  readonly #queued = new Map<string, Queued[]>()
  readonly #times = new Map<number, number>()
  /** The youngest message of each sender that was published. */
  readonly #youngest = new Map<string, Youngest>()
  /** What came after younger ones of a later session. */
  readonly #late: Sent[] = []
  #lastId = 0

  nextId(): number {
    return ++this.#lastId
  }

  /** Messages and events that came through. */
  get processed(): number {
    return this.#times.size
  }

  complain(what: string): void {
    this.complaints.push(what)
  }

  /** The hub published a message. `from`: the session it was sent in, if a client sent it. */
  published(frame: DataFrame, sessions: readonly string[], at: number, from: string): void {
    const id = idIn(frame.payload)
    const group = frame.type === 'groupMessage' ? frame.group : undefined
    for (const session of sessions) this.queuedFor(session).push({ id, group, at, left: false })
    const sent = this.sent.get(id)
    if (sent && !this.#times.has(id)) this.#judgeOrder(sent, from)
    this.processedOnceMore(id)
  }

  /** The hub ended a membership that was asked to end. */
  left(session: string, group: string): void {
    for (const queued of this.queuedFor(session)) if (queued.group === group) queued.left = true
  }

  processedOnceMore(id: number): void {
    this.#times.set(id, this.timesOf(id) + 1)
  }

  timesOf(id: number): number {
    return this.#times.get(id) ?? 0
  }

  queuedFor(session: string): Queued[] {
    const known = this.#queued.get(session)
    if (known) return known
    const queued: Queued[] = []
    this.#queued.set(session, queued)
    return queued
  }

  /** Whether senders were told the truth. */
  judgeSent(): void {
    for (const sent of this.sent.values()) {
      const times = this.timesOf(sent.id)
      if (!isTrueOf(sent, times))
        this.complain(`${nameOf(sent)} ended as ${sent.outcome}, but was processed ${times} times`)
      if (sent.outcome === 'acked' && sent.how !== 'noAck' && this.#late.includes(sent)) {
        this.complain(`${nameOf(sent)} was published after a younger one of a later session`)
      }
      if (sent.outcome === 'outcome-unknown' && !sent.excused()) this.complain(`${nameOf(sent)} need not be unknown`)
    }
  }

  /** What was under way when its session was lost may come late, unless its sender was told that it had come. */
  #judgeOrder(sent: Sent, session: string): void {
    const { id, sender } = sent
    const youngest = this.#youngest.get(sender)
    if (youngest === undefined || id > youngest.id) this.#youngest.set(sender, { id, session })
    else if (session < youngest.session) this.#late.push(sent)
    else this.complain(`${nameOf(sent)} was published after a younger one`)
  }
}

const nameOf = ({ kind, id, sender, how }: Sent): string => `${kind} ${id} of ${sender} (${how})`

const KNOWN: Readonly<Record<string, Knowledge>> = {
  acked: 'done',
  'outcome-unknown': 'open',
  timeout: 'not done',
  closed: 'not done',
  'pubsub-refused': 'not done',
}

/** Returns whether it may have been processed so many times; no other outcome may come of it. */
function isTrueOf({ outcome, how }: Sent, times: number): boolean {
  const known = KNOWN[outcome]
  if (known === undefined) return false
  // What is sent without an acknowledgement may be lost, and what is sent at least once may come twice.
  const knowledge = known === 'done' && how === 'noAck' ? 'open' : known
  return isTrue(knowledge, how === 'atLeastOnce' && knowledge !== 'not done' ? Math.min(times, 1) : times)
}
