import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import type { MemoryBudget } from '../../node/limits/memory-budget.js'
import type { AckError, Payload, UpFrame } from '../wire/frames.js'
import type { HubLink } from './hub-link.js'
import type { HubSession } from './hub-session.js'

const EVENT_TIMEOUT_MS = 30_000
const MAX_UNDECIDED_EVENTS = 1_000
const MAX_UNDECIDED_BYTES = 16 * 1024 * 1024

/** The approximate memory in bytes of an event in addition to its frame. */
const OVERHEAD_BYTES = 400

const REJECTIONS = {
  unhandled: { name: 'NotFound', message: 'This hub handles no events' },
  undecided: { name: 'Timeout', message: `The event was not answered within ${EVENT_TIMEOUT_MS} ms` },
  busy: { name: 'InternalServerError', message: 'Too many unanswered events of this connection' },
} as const satisfies Record<string, AckError>

/** An event passed to the application, which decides how it is acknowledged. */
export class EventRequest {
  readonly session: HubSession
  readonly event: string
  readonly payload: Payload
  readonly ackId: bigint | undefined
  /** The frame's size in bytes or characters. */
  readonly size: number
  /** The deadline at which the event is rejected automatically, if the client requested an ack. */
  deadline: Deadline<EventRequest> | undefined
  link: HubLink | undefined
  isSettled = false

  constructor(session: HubSession, event: string, payload: Payload, ackId: bigint | undefined, size: number) {
    this.session = session
    this.link = session.link
    this.event = event
    this.payload = payload
    this.ackId = ackId
    this.size = size
  }
}

/** Keeps the events that await the application's decision. An undecided event is rejected after a timeout. */
export class EventQueue {
  readonly #handle: (request: EventRequest) => boolean
  readonly #reply: (session: HubSession, payload: Payload, now: number) => void
  readonly #budget: MemoryBudget
  readonly #deadlines = new DeadlineQueue<EventRequest>()
  readonly #undecided = new Map<HubSession, UndecidedEvents>()

  /**
   * @param handle - returns whether the application takes the event, to decide on it now or later
   * @param reply - sends a message to the client; throws if it cannot be encoded
   * @param budget - memory budget to charge for undecided events
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

  get deadline(): number {
    return this.#deadlines.earliest
  }

  bytesOf(session: HubSession): number {
    const undecided = this.#undecided.get(session)
    return undecided === undefined ? 0 : undecided.bytes + OVERHEAD_BYTES * undecided.count
  }

  /**
   * Handles a copy of an undecided event. Returns `false` if there is no such event. One decision serves all copies.
   */
  handleDuplicate(session: HubSession, ackId: bigint): boolean {
    const request = this.#undecided.get(session)?.get(ackId)
    if (request) request.link = session.link
    return request !== undefined
  }

  /**
   * Passes an event to the application.
   *
   * @param size - size of the frame in bytes or characters
   */
  submit(session: HubSession, frame: Extract<UpFrame, { type: 'event' }>, size: number, now: number): void {
    const { event, payload, ackId } = frame
    const isFull =
      this.#undecided.get(session)?.exceedsLimit(size) ||
      !this.#budget.hasOwnerRoomFor(session.owner, size + OVERHEAD_BYTES)
    if (ackId !== undefined && isFull) {
      session.acknowledgeRequest(ackId, REJECTIONS.busy)
      return
    }
    const request = new EventRequest(session, event, payload, ackId, size)
    if (ackId !== undefined) {
      this.#track(ackId, request)
      request.deadline = this.#deadlines.add(now + EVENT_TIMEOUT_MS, request)
    }
    if (!this.#handle(request)) this.refuse(request, REJECTIONS.unhandled)
  }

  /** Acknowledges an event as processed, after sending `reply` if it is given. Only the first decision counts. */
  accept(request: EventRequest, now: number, reply?: Payload): void {
    if (request.isSettled) return
    // If the reply cannot be encoded, `#reply` throws and the event stays undecided.
    if (reply !== undefined) this.#reply(request.session, reply, now)
    this.#settle(request)
  }

  /**
   * Rejects an event. Only the first decision counts. A client that has recovered its session but not yet repeated the
   * event receives no ack. Its copy is decided again, and the two decisions could contradict each other.
   */
  refuse(request: EventRequest, error: AckError): void {
    if (!request.isSettled) this.#settle(request, error)
  }

  dropSession(session: HubSession): void {
    for (const request of this.#undecided.get(session)?.all ?? []) {
      request.isSettled = true
      this.#budget.adjustOwned(session.owner, -request.size - OVERHEAD_BYTES)
      if (request.deadline) this.#deadlines.remove(request.deadline)
    }
    this.#undecided.delete(session)
  }

  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.refuse(due, REJECTIONS.undecided)
    }
  }

  #track(ackId: bigint, request: EventRequest): void {
    const undecided = this.#undecided.get(request.session) ?? new UndecidedEvents()
    this.#undecided.set(request.session, undecided)
    undecided.add(ackId, request)
    this.#budget.adjustOwned(request.session.owner, request.size + OVERHEAD_BYTES)
  }

  #settle(request: EventRequest, error?: AckError): void {
    const { session, ackId, deadline } = request
    request.isSettled = true
    if (deadline) this.#deadlines.remove(deadline)
    if (ackId !== undefined) {
      this.#undecided.get(session)?.remove(ackId)
      this.#budget.adjustOwned(session.owner, -request.size - OVERHEAD_BYTES)
    }
    if (error === undefined || request.link === session.link) session.acknowledgeRequest(ackId, error)
  }
}

class UndecidedEvents {
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

  exceedsLimit(size: number): boolean {
    return this.#requests.size >= MAX_UNDECIDED_EVENTS || this.#bytes + size > MAX_UNDECIDED_BYTES
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
