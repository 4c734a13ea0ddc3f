import { reason } from '../../errors.js'
import type { AckError, UpFrame } from '../wire/frames.js'
import type { DataFrame } from './dialect.js'
import type { EventDesk } from './event-desk.js'
import { type GroupAction, PERMISSION_FOR } from './group-guard.js'
import { REFUSALS } from './refusals.js'
import type { Roster } from './roster.js'
import type { Session } from './session.js'

/** A frame that may ask for an answer. */
export type Request = Extract<UpFrame, { ackId?: bigint | undefined }>

type GroupRequest = Exclude<Request, { type: 'event' }>
type PublishRequest = Extract<Request, { type: 'sendToGroup' }>

/** What is done with groups at the hub. */
export interface GroupWork {
  /** Queues a message; raises an error when it cannot be encoded. */
  readonly deliver: (targets: ReadonlySet<Session>, frame: DataFrame, spared?: ReadonlySet<string>) => void
  /** Whether it is a member now. */
  readonly join: (session: Session, group: string) => boolean
  readonly leave: (session: Session, group: string) => void
  /** What the application says to it, before the permissions of the session count. */
  readonly allows: (session: Session, action: GroupAction, group: string) => boolean | undefined
}

/**
 * What clients ask for, and what they are answered. An answer says that it is done: for a message, that it is queued for
 * everybody who gets it. (Client specification, "Acknowledgements" and "Deduplication".)
 */
export class Requests {
  readonly #roster: Roster
  readonly #events: EventDesk
  readonly #work: GroupWork

  constructor(roster: Roster, events: EventDesk, work: GroupWork) {
    this.#roster = roster
    this.#events = events
    this.#work = work
  }

  /** @param size - of the frame, bytes or characters */
  handle(session: Session, request: Request, size: number, now: number): void {
    const { ackId } = request
    // Its answer is on the way.
    if (ackId !== undefined && this.#events.waits(session, ackId)) return
    if (ackId !== undefined && session.recent.has(ackId)) session.answer(ackId, REFUSALS.duplicate)
    else if (request.type === 'event') this.#events.ask(session, request, size, now)
    else session.answer(ackId, this.#perform(session, request))
  }

  /** Why it was not done, if it was not. */
  #perform(session: Session, request: GroupRequest): AckError | undefined {
    const { type, group } = request
    if (type === 'sendToGroup') {
      return this.#allows(session, 'send', group) ? this.#publish(session, request) : REFUSALS.send
    }
    if (!this.#allows(session, type === 'joinGroup' ? 'join' : 'leave', group)) return REFUSALS.join
    if (type === 'joinGroup') return this.#work.join(session, group) ? undefined : REFUSALS.tooManyGroups
    this.#work.leave(session, group)
    return undefined
  }

  #allows(session: Session, action: GroupAction, group: string): boolean {
    return this.#work.allows(session, action, group) ?? session.permissions.allows(PERMISSION_FOR[action], group)
  }

  #publish(session: Session, { group, payload, noEcho }: PublishRequest): AckError | undefined {
    const spared = noEcho ? new Set([session.connectionId]) : undefined
    const frame: DataFrame = { type: 'groupMessage', group, fromUserId: session.userId, payload }
    try {
      this.#work.deliver(this.#roster.ofGroup(group), frame, spared)
      return undefined
    } catch (error) {
      return { name: 'BadRequest', message: reason(error) }
    }
  }
}
