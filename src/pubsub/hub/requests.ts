import { reason } from '../../base/errors.js'
import type { AckError, NewerCall, UnknownFrame, UpFrame } from '../wire/frames.js'
import type { EventDesk } from './event-desk.js'
import type { HubSession } from './hub-session.js'
import { MOST_GROUPS } from './identity.js'
import { type GroupAction, PERMISSION_FOR } from './permissions.js'
import type { Roster } from './roster.js'
import type { DataFrame } from './shared-codec.js'

/** Why a request was not done, in the words of the wire. (JSON subprotocol reference, "Ack response".) */
const REFUSALS = {
  duplicate: { name: 'Duplicate', message: 'A request with this ackId was processed already' },
  tooManyGroups: { name: 'BadRequest', message: `A connection can be in ${MOST_GROUPS} groups` },
  join: { name: 'Forbidden', message: 'The connection may not join or leave this group' },
  send: { name: 'Forbidden', message: 'The connection may not send to this group' },
  newer: { name: 'NotSupported', message: 'This hub has no invocations, streams or states of groups' },
} as const satisfies Record<string, AckError>

/** A frame that may ask for an answer. */
type ClientRequest = Extract<UpFrame, { ackId?: bigint | undefined }>

type GroupRequest = Exclude<ClientRequest, { type: 'event' }>
type PublishRequest = Extract<ClientRequest, { type: 'sendToGroup' }>

/** What the hub does with groups. */
export interface GroupWork {
  /** Queues a message; raises an error when it cannot be encoded. */
  readonly deliver: (targets: ReadonlySet<HubSession>, frame: DataFrame, spared?: ReadonlySet<string>) => void
  /** Returns whether it is a member now. */
  readonly join: (session: HubSession, group: string) => boolean
  readonly leave: (session: HubSession, group: string) => void
  /** What the application decides, before the permissions of the session are looked at. */
  readonly allows: (session: HubSession, action: GroupAction, group: string) => boolean | undefined
}

/**
 * What clients ask for, and what they are answered. An answer says that it is done: for a message, that it is queued for
 * every receiver. (Client specification, "Acknowledgements" and "Deduplication".)
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
  take(session: HubSession, frame: UpFrame | NewerCall | UnknownFrame, size: number, now: number): void {
    switch (frame.type) {
      case 'unknown':
        return
      case 'newerCall':
        refuse(session, frame)
        return
      case 'ping':
        session.pong()
        return
      case 'sequenceAck':
        session.acknowledge(frame.sequenceId)
        return
      default:
        this.#answer(session, frame, size, now)
    }
  }

  #answer(session: HubSession, request: ClientRequest, size: number, now: number): void {
    const { ackId } = request
    if (ackId !== undefined && this.#events.repeated(session, ackId)) return
    if (ackId !== undefined && session.recent.has(ackId)) session.answer(ackId, REFUSALS.duplicate)
    else if (request.type === 'event') this.#events.ask(session, request, size, now)
    else session.answer(ackId, this.#perform(session, request))
  }

  /** Does it, or says why not. */
  #perform(session: HubSession, request: GroupRequest): AckError | undefined {
    const { type, group } = request
    if (type === 'sendToGroup') {
      return this.#allows(session, 'send', group) ? this.#publish(session, request) : REFUSALS.send
    }
    if (!this.#allows(session, type === 'joinGroup' ? 'join' : 'leave', group)) return REFUSALS.join
    if (type === 'joinGroup') return this.#work.join(session, group) ? undefined : REFUSALS.tooManyGroups
    this.#work.leave(session, group)
    return undefined
  }

  #allows(session: HubSession, action: GroupAction, group: string): boolean {
    return this.#work.allows(session, action, group) ?? session.permissions.allows(PERMISSION_FOR[action], group)
  }

  #publish(session: HubSession, { group, payload, noEcho }: PublishRequest): AckError | undefined {
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

/** Answers a call the hub does not know, so that the caller need not wait. */
function refuse(session: HubSession, { answer, id }: NewerCall): void {
  if (answer === 'ack') session.answer(id, REFUSALS.newer)
  else session.send({ type: answer, id, error: REFUSALS.newer })
}
