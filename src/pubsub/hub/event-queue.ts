import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import type { AckError, Payload, UpFrame } from '../wire/frames.js'
import type { HubLink } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { MemoryBudget } from './memory-budget.js'

/** How long the application may take to decide on an event, ms. */
const EVENT_TIMEOUT = 30_000
/** Most events of one connection that wait for the application to decide, and how large they are together, bytes. */
const MOST_UNDECIDED = 1_000
const MOST_UNDECIDED_BYTES = 16 * 1024 * 1024

/** About what an event takes besides the bytes of its frame, bytes. */
const OVERHEAD = 400

/** Why an event was not processed, in the words of the wire. */
const REFUSALS = {
  unhandled: { name: 'NotFound', message: 'This hub handles no events' },
  undecided: { name: 'Timeout', message: `The event was not answered within ${EVENT_TIMEOUT} ms` },
  busy: { name: 'InternalServerError', message: 'Too many events of this connection wait for an answer' },
} as const satisfies Record<string, AckError>

/** An event on its way to the application, which decides what is answered. */
export class EventRequest {
  readonly session: HubSession
  readonly event: string
  readonly payload: Payload
  readonly ackId: bigint | undefined
  /** Of its frame, bytes or characters. */
  readonly size: number
  /** When it is refused without the application; only if the client asked for an answer. */
  deadline: Deadline<EventRequest> | undefined
  /** The link over which its latest copy came. */
  link: HubLink | undefined
  /** Whether the application has decided. */
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

/** Where events wait until the application has decided on them. One that it forgets is refused after a while. */
export class EventQueue {
  readonly #handle: (request: EventRequest) => boolean
  readonly #reply: (session: HubSession, payload: Payload, now: number) => void
  readonly #budget: MemoryBudget
  readonly #waiting = new DeadlineQueue<EventRequest>()
  readonly #undecided = new Map<HubSession, Undecided>()

  /**
   * @param handle - whether the application takes the event, to decide now or later
   * @param reply - sends an answer to the client; raises an error when it cannot be encoded
   * @param budget - for what waits
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

  /** When {@link tick} has something to do next; `Infinity` for never. */
  get deadline(): number {
    return this.#waiting.earliest
  }

  /** Bytes of the events of a session that wait. */
  bytesOf(session: HubSession): number {
    const undecided = this.#undecided.get(session)
    return undecided === undefined ? 0 : undecided.bytes + OVERHEAD * undecided.count
  }

  /** Takes a copy of an event that waits; `false` if there is none. One answer serves all copies. */
  repeated(session: HubSession, ackId: bigint): boolean {
    const request = this.#undecided.get(session)?.get(ackId)
    if (request) request.link = session.link
    return request !== undefined
  }

  /**
   * Takes an event of a client.
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

  /** Says that an event was processed, with an answer for the client if there is one. Only the first decision counts. */
  accept(request: EventRequest, now: number, reply?: Payload): void {
    if (request.settled) return
    // Raises an error when it cannot be encoded; then the event waits for a better decision.
    if (reply !== undefined) this.#reply(request.session, reply, now)
    this.#settle(request)
  }

  /**
   * Says that an event was not processed. Only the first decision counts. A client that has recovered its session and not
   * yet repeated the event is not told: its copy is asked about anew, and would contradict the answer.
   */
  refuse(request: EventRequest, error: AckError): void {
    if (!request.settled) this.#settle(request, error)
  }

  /** Drops the events of a session that has ended: there is no one left to answer. */
  forget(session: HubSession): void {
    for (const request of this.#undecided.get(session)?.all ?? []) {
      request.settled = true
      this.#budget.hold(session.owner, -request.size - OVERHEAD)
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

/** Events of one connection that the application has not decided on yet, by the ids they are answered with. */
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

  /** Whether there is no room for another of this size. */
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
