import { DeadlineQueue } from '../../deadlines.js'
import type { AckError, Payload, UpFrame } from '../wire/frames.js'
import { EventRequest } from './event-request.js'
import { EVENT_TIMEOUT, REFUSALS } from './refusals.js'
import type { Session } from './session.js'
import { Undecided } from './undecided.js'

/** Where events wait until the application has decided on them. An event that it forgets is refused in time. */
export class EventDesk {
  readonly #handle: (request: EventRequest) => boolean
  readonly #reply: (session: Session, payload: Payload) => void
  readonly #waiting = new DeadlineQueue<EventRequest>()
  readonly #undecided = new Map<Session, Undecided>()

  /**
   * @param handle - whether anybody takes the event, to decide now or later
   * @param reply - sends an answer to the client; raises an error when it cannot be encoded
   */
  constructor(handle: (request: EventRequest) => boolean, reply: (session: Session, payload: Payload) => void) {
    this.#handle = handle
    this.#reply = reply
  }

  /** When {@link tick} has something to do next. */
  get nextDeadline(): number | undefined {
    return this.#waiting.peek()?.at
  }

  /** Whether an event is on the way to its answer. */
  waits(session: Session, ackId: bigint): boolean {
    return this.#undecided.get(session)?.has(ackId) === true
  }

  /**
   * Takes an event of a client.
   *
   * @param size - of the frame, bytes or characters
   */
  ask(session: Session, frame: Extract<UpFrame, { type: 'event' }>, size: number, now: number): void {
    const { event, payload, ackId } = frame
    if (this.#undecided.get(session)?.full(size)) {
      session.answer(ackId, REFUSALS.busy)
      return
    }
    const request = new EventRequest(session, event, payload, ackId, size)
    if (ackId !== undefined) {
      this.#keep(ackId, request)
      request.deadline = this.#waiting.add(now + EVENT_TIMEOUT, request)
    }
    if (!this.#handle(request)) this.refuse(request, REFUSALS.unhandled)
  }

  /** Says that an event was processed, with an answer for the client if there is one. Only the first decision counts. */
  accept(request: EventRequest, reply?: Payload): void {
    if (request.settled) return
    // Raises an error when it cannot be encoded; then the event waits for a better decision.
    if (reply !== undefined) this.#reply(request.session, reply)
    this.#settle(request)
  }

  /** Says that an event was not processed. Only the first decision counts. */
  refuse(request: EventRequest, error: AckError): void {
    if (!request.settled) this.#settle(request, error)
  }

  /** Lets go of the events of a session that has ended: there is nobody to answer. */
  forget(session: Session): void {
    for (const request of this.#undecided.get(session)?.all ?? []) {
      request.settled = true
      if (request.deadline) this.#waiting.remove(request.deadline)
    }
    this.#undecided.delete(session)
  }

  /** Refuses what the application has not decided on in time. */
  tick(now: number): void {
    for (let due = this.#waiting.takeDue(now); due !== undefined; due = this.#waiting.takeDue(now)) {
      this.refuse(due, REFUSALS.undecided)
    }
  }

  #keep(ackId: bigint, request: EventRequest): void {
    const undecided = this.#undecided.get(request.session) ?? new Undecided()
    this.#undecided.set(request.session, undecided)
    undecided.add(ackId, request)
  }

  #settle(request: EventRequest, error?: AckError): void {
    const { session, ackId, deadline } = request
    request.settled = true
    if (deadline) this.#waiting.remove(deadline)
    if (ackId !== undefined) this.#undecided.get(session)?.remove(ackId)
    session.answer(ackId, error)
  }
}
