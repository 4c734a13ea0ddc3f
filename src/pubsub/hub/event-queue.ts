import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import type { AckError, Payload, UpFrame } from '../wire/frames.js'
import type { HubLink } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { MemoryBudget } from './memory-budget.js'

/** How long the application may take to decide on an event, ms. */
const EVENT_TIMEOUT = 30_000
/** Maximum undecided events of one connection, and their total size in bytes. */
const MOST_UNDECIDED = 1_000
const MOST_UNDECIDED_BYTES = 16 * 1024 * 1024

/** Approximate memory of an event besides its frame, bytes. */
const OVERHEAD = 400

/** Acks for events that were not processed. */
const REFUSALS = {
  unhandled: { name: 'NotFound', message: 'This hub handles no events' },
  undecided: { name: 'Timeout', message: `The event was not answered within ${EVENT_TIMEOUT} ms` },
  busy: { name: 'InternalServerError', message: 'Too many unanswered events of this connection' },
} as const satisfies Record<string, AckError>

/** An event passed to the application, which decides how it is acknowledged. */
export class EventRequest {
  readonly session: HubSession
  readonly event: string
  readonly payload: Payload
  readonly ackId: bigint | undefined
  /** Of the frame, bytes or characters. */
  readonly size: number
  /** When it is rejected automatically; only if the client requested an ack. */
  deadline: Deadline<EventRequest> | undefined
  /** The link that carried the latest copy. */
  link: HubLink | undefined
  settled = false

  constructor(session: HubSession, event: string, payload: Payload, ackId: bigint | undefined, size: number) {
    this.session = session
    this.link = session.link
    this.event = event
    this.payload = payload
    this.ackId = ackId
    this.size = size
  }
}

/** Events awaiting the application's decision. An undecided event is rejected after a timeout. */
export class EventQueue {
  readonly #handle: (request: EventRequest) => boolean
  readonly #reply: (session: HubSession, payload: Payload, now: number) => void
  readonly #budget: MemoryBudget
  readonly #waiting = new DeadlineQueue<EventRequest>()
  readonly #undecided = new Map<HubSession, Undecided>()

  /**
   * @param handle - returns whether the application accepts the event, to decide now or later
   * @param reply - sends a message to the client; throws if it cannot be encoded
   * @param budget - charged for undecided events
   */
  constructor(
    handle: (request: EventRequest) => boolean,
    reply: (session: HubSession, payload: Payload, now: number) => void,
    budget: MemoryBudget,
  ) {
    this.#budget = budget
    this.#handle = handle
    this.#reply = reply
  }

  /** When {@link tick} should run next; `Infinity` for never. */
  get deadline(): number {
    return this.#waiting.earliest
  }

  /** Bytes of a session's undecided events. */
  bytesOf(session: HubSession): number {
    const undecided = this.#undecided.get(session)
    return undecided === undefined ? 0 : undecided.bytes + OVERHEAD * undecided.count
  }

  /** Handles a copy of an undecided event; returns `false` if there is none. One decision serves all copies. */
  repeated(session: HubSession, ackId: bigint): boolean {
    const request = this.#undecided.get(session)?.get(ackId)
    if (request) request.link = session.link
    return request !== undefined
  }

  /**
   * Passes an event to the application.
   *
   * @param size - of the frame, bytes or characters
   */
  ask(session: HubSession, frame: Extract<UpFrame, { type: 'event' }>, size: number, now: number): void {
    const { event, payload, ackId } = frame
    const isFull = this.#undecided.get(session)?.full(size) || !this.#budget.hasRoomFor(session.owner, size + OVERHEAD)
    if (ackId !== undefined && isFull) {
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

  /** Acknowledges an event as processed, after sending `reply` if given. Only the first decision counts. */
  accept(request: EventRequest, now: number, reply?: Payload): void {
    if (request.settled) return
    // Throws if the reply cannot be encoded; the event then stays undecided.
    if (reply !== undefined) this.#reply(request.session, reply, now)
    this.#settle(request)
  }

  /**
   * Rejects an event. Only the first decision counts. A client that has recovered its session and not yet repeated the
   * event receives no ack: its copy is decided again, and the decisions could contradict each other.
   */
  refuse(request: EventRequest, error: AckError): void {
    if (!request.settled) this.#settle(request, error)
  }

  /** Drops the events of an ended session. */
  forget(session: HubSession): void {
    for (const request of this.#undecided.get(session)?.all ?? []) {
      request.settled = true
      this.#budget.hold(session.owner, -request.size - OVERHEAD)
      if (request.deadline) this.#waiting.remove(request.deadline)
    }
    this.#undecided.delete(session)
  }

  /** Rejects events not decided in time. */
  tick(now: number): void {
    for (let due = this.#waiting.takeDue(now); due !== undefined; due = this.#waiting.takeDue(now)) {
      this.refuse(due, REFUSALS.undecided)
    }
  }

  #keep(ackId: bigint, request: EventRequest): void {
    const undecided = this.#undecided.get(request.session) ?? new Undecided()
    this.#undecided.set(request.session, undecided)
    undecided.add(ackId, request)
    this.#budget.hold(request.session.owner, request.size + OVERHEAD)
  }

  #settle(request: EventRequest, error?: AckError): void {
    const { session, ackId, deadline } = request
    request.settled = true
    if (deadline) this.#waiting.remove(deadline)
    if (ackId !== undefined) {
      this.#undecided.get(session)?.remove(ackId)
      this.#budget.hold(session.owner, -request.size - OVERHEAD)
    }
    if (error === undefined || request.link === session.link) session.answer(ackId, error)
  }
}

/** Undecided events of one connection by ackId. */
class Undecided {
  readonly #requests = new Map<bigint, EventRequest>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  get count(): number {
    return this.#requests.size
  }

  get all(): Iterable<EventRequest> {
    return this.#requests.values()
  }

  get(ackId: bigint): EventRequest | undefined {
    return this.#requests.get(ackId)
  }

  /** Returns whether an event of this size exceeds a limit. */
  full(size: number): boolean {
    return this.#requests.size >= MOST_UNDECIDED || this.#bytes + size > MOST_UNDECIDED_BYTES
  }

  add(ackId: bigint, request: EventRequest): void {
    this.#requests.set(ackId, request)
    this.#bytes += request.size
  }

  remove(ackId: bigint): void {
    this.#bytes -= this.#requests.get(ackId)?.size ?? 0
    this.#requests.delete(ackId)
  }
}
