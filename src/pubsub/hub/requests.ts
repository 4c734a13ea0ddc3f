import { reason } from '../../errors.js'
import type { AckError, UpFrame } from '../wire/frames.js'
import type { DataFrame } from './dialect.js'
import type { EventDesk } from './event-desk.js'
import { REFUSALS } from './refusals.js'
import type { Roster } from './roster.js'
import type { Session } from './session.js'

/** A frame that may ask for an answer. */
export type Request = Extract<UpFrame, { ackId?: bigint | undefined }>

type GroupRequest = Exclude<Request, { type: 'event' }>
type PublishRequest = Extract<Request, { type: 'sendToGroup' }>

/** Queues a message; raises an error when it cannot be encoded. */
export type Deliver = (targets: ReadonlySet<Session>, frame: DataFrame, spared?: ReadonlySet<string>) => void

/**
 * What clients ask for, and what they are answered. An answer says that it is done: for a message, that it is queued for
 * everybody who gets it. (Client specification, "Acknowledgements" and "Deduplication".)
 */
export class Requests {
  readonly #roster: Roster
  readonly #events: EventDesk
  readonly #deliver: Deliver

  constructor(roster: Roster, events: EventDesk, deliver: Deliver) {
    this.#roster = roster
    this.#events = events
    this.#deliver = deliver
  }

  handle(session: Session, request: Request, now: number): void {
    const { ackId } = request
    // Its answer is on the way.
    if (ackId !== undefined && session.undecided.has(ackId)) return
    if (ackId !== undefined && session.recent.has(ackId)) session.answer(ackId, REFUSALS.duplicate)
    else if (request.type === 'event') this.#events.ask(session, request, now)
    else session.answer(ackId, this.#perform(session, request))
  }

  /** Why it was not done, if it was not. */
  #perform(session: Session, request: GroupRequest): AckError | undefined {
    const { type, group } = request
    if (type === 'sendToGroup') {
      return session.permissions.allows('sendToGroup', group) ? this.#publish(session, request) : REFUSALS.send
    }
    if (!session.permissions.allows('joinLeaveGroup', group)) return REFUSALS.join
    if (type === 'joinGroup') return this.#roster.join(session, group) ? undefined : REFUSALS.tooManyGroups
    this.#roster.leave(session, group)
    return undefined
  }

  #publish(session: Session, { group, payload, noEcho }: PublishRequest): AckError | undefined {
    const spared = noEcho ? new Set([session.connectionId]) : undefined
    const frame: DataFrame = { type: 'groupMessage', group, fromUserId: session.userId, payload }
    try {
      this.#deliver(this.#roster.ofGroup(group), frame, spared)
      return undefined
    } catch (error) {
      return { name: 'BadRequest', message: reason(error) }
    }
  }
}
