import { DeadlineQueue } from '../../core/util/deadlines.js'
import { reason as words } from '../../core/util/errors.js'
import type { FrameData, NewerCall, Payload, UnknownFrame, UpFrame } from '../wire/frames.js'
import { Backpressure } from './backpressure.js'
import { EventQueue, type EventRequest } from './event-queue.js'
import { CLOSE, type CloseCode, type HubLink } from './hub-link.js'
import { HubSession } from './hub-session.js'
import type { Connection, EndReason, OwnedIdentity, SessionClaim } from './identity.js'
import { type MemoryBudget, unlimited } from './memory-budget.js'
import type { GroupAction } from './permissions.js'
import { fanOut, Requests } from './requests.js'
import { membershipBytes, SessionIndex } from './session-index.js'
import type { DataFrame, SharedCodec } from './shared-codec.js'

const ID_BYTES = 16
const TOKEN_BYTES = 32
/** Bytes or characters of a sequence ack with white space to spare. */
const LONGEST_ACK = 100

/**
 * The rules of one hub, without network, timers or clock: links are given to it, and every call that needs the time (ms,
 * from any start, never backwards) brings it along. (Client specification; JSON and protobuf subprotocol references.)
 *
 * @example
 * ```ts
 * const session = engine.connect(link, codec, { userId: 'ann' }, 0)
 * engine.receive(session, link, '{"type":"ping"}', 10)
 * engine.dropped(session, link, 1006, 20)
 * ```
 */
export class HubEngine {
  readonly roster: SessionIndex
  readonly events: EventQueue
  readonly #options: HubEngineOptions
  readonly #listener: HubListener
  readonly #deadlines = new DeadlineQueue<HubSession>()
  readonly #backpressure = new Backpressure()
  readonly #requests: Requests
  readonly #budget: MemoryBudget
  #deliveries = 0
  /** Sessions that lag behind with what was sent since {@link receive} began. */
  #lagging: readonly HubSession[] = []

  constructor(options: HubEngineOptions) {
    this.#options = options
    this.#listener = options.listener
    this.#budget = options.budget ?? unlimited()
    this.roster = new SessionIndex(this.#budget)
    this.events = new EventQueue(
      request => options.listener.event(request),
      (session, payload, now) => this.tell(session, payload, now),
      this.#budget,
    )
    this.#requests = new Requests(this.roster, this.events, this.#backpressure, {
      deliver: (targets, frame, now, spared) => this.deliver(targets, frame, now, spared),
      join: (session, group) => this.#mayJoin(session, group) && this.join(session, group),
      leave: (session, group) => this.leave(session, group),
      allows: (session, action, group) => options.listener.allows?.(session, action, group),
    })
  }

  /** When {@link tick} has something to do next; `Infinity` for never. */
  get deadline(): number {
    return Math.min(this.#deadlines.earliest, this.events.deadline, this.#backpressure.deadline)
  }

  /** Begins a session. */
  connect(link: HubLink, codec: SharedCodec, identity: OwnedIdentity, now: number): HubSession {
    const { secret } = this.#options
    const session = new HubSession(secret(ID_BYTES), secret(TOKEN_BYTES), codec, identity, this.#budget)
    this.roster.add(session)
    this.#heard(session, now)
    session.open(link)
    for (const group of identity.groups ?? []) this.roster.join(session, group)
    this.#listener.connected(session)
    for (const group of session.groups) this.#tellJoined(session, group)
    this.#budget.enforce()
    return session
  }

  /** Makes a session a member of a group, if it is not in too many already. */
  join(session: HubSession, group: string): boolean {
    const wasMember = session.joined.has(group)
    const isMember = this.roster.join(session, group)
    if (isMember && !wasMember) this.#listener.joined?.(session, group)
    return isMember
  }

  /** Ends a membership, if there is one. */
  leave(session: HubSession, group: string): void {
    if (!session.joined.has(group)) return
    this.roster.leave(session, group)
    this.#listener.left?.(session, group)
  }

  /** The session that a claim proves to be the client's. */
  find({ connectionId, token }: SessionClaim): HubSession | undefined {
    const session = this.roster.get(connectionId)
    return session?.hasToken(token) ? session : undefined
  }

  /** Goes on with a session at a new link, or `undefined` when the claim is wrong. A link it still has is cut. */
  recover(claim: SessionClaim, link: HubLink, now: number): HubSession | undefined {
    this.tick(now)
    const session = this.find(claim)
    if (session === undefined) return undefined
    this.#heard(session, now)
    session.resume(link)
    return session
  }

  /**
   * Takes what came over a link, unless the session has another one by now. Holds the link while the sender has to wait for
   * receivers, and releases others that have waited for this one.
   *
   * @returns how much work it was: 1, and 1 more for each message queued; 0 when the frame was not taken and has to wait
   */
  receive(session: HubSession, link: HubLink, data: FrameData, now: number): number {
    const work = session.link === link ? this.#take(session, link, data, now) : 1
    this.#backpressure.review(session, now)
    return work
  }

  /**
   * Takes a frame ahead of others that wait, if it is an acknowledgement: it tells what the client has received, wherever
   * it stands.
   */
  acknowledgeAhead(session: HubSession, link: HubLink, data: FrameData, now: number): boolean {
    if (session.link !== link || data.length > LONGEST_ACK || !session.codec.isSequenceAck(data)) return false
    this.receive(session, link, data, now)
    return true
  }

  /** A sign of life that is not a frame. */
  alive(session: HubSession, link: HubLink, now: number): void {
    if (session.link === link) session.heardAt = now
  }

  /** A link takes more again. */
  drained(session: HubSession, link: HubLink): void {
    if (session.link === link) session.pump()
  }

  /** A link is gone, with a WebSocket close code. The session is kept unless the client said that it is over. */
  dropped(session: HubSession, link: HubLink, code: number, now: number): void {
    if (session.link === link) {
      session.detach()
      if (code === CLOSE.normal) this.end(session, 'client', CLOSE.normal, '')
      else this.#watch(session, now + this.#options.retention)
    }
    this.#backpressure.review(session, now)
  }

  /** A link broke the rules below the subprotocol and closes for that reason. */
  violated(session: HubSession, link: HubLink): void {
    if (session.link === link) this.end(session, 'violation', CLOSE.malformed, '')
  }

  /** Does what is due: asks silent links for a sign of life, closes them, ends sessions, answers forgotten events. */
  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.#due(due, now)
    }
    this.events.tick(now)
    this.#backpressure.tick(now)
  }

  /** Ends all sessions: the server is shutting down. */
  close(now: number): void {
    for (const session of this.roster.all) {
      this.end(session, 'shutdown', CLOSE.goingAway, 'the server is shutting down')
    }
    this.#backpressure.close(now)
  }

  /** Ends a session and forgets it. */
  end(session: HubSession, reason: EndReason, code: CloseCode, text: string): void {
    if (this.roster.get(session.connectionId) !== session) return
    this.roster.remove(session)
    if (session.deadline) this.#deadlines.remove(session.deadline)
    const link = session.detach()
    this.events.forget(session)
    session.dispose()
    for (const group of session.groups) this.#listener.left?.(session, group)
    this.#listener.disconnected(session, reason)
    link?.close(code, text)
  }

  /**
   * Queues a message for sessions, also for those without a link. Raises an error, and queues nothing, when it cannot be
   * encoded.
   *
   * @returns how many sessions it was queued for
   */
  deliver(
    targets: ReadonlySet<HubSession>,
    frame: DataFrame,
    now: number,
    spared: ReadonlySet<string> | undefined = undefined,
  ): number {
    const { deliveries, overflowed, lagging } = fanOut(targets, frame, now, spared)
    this.#deliveries += deliveries
    if (lagging.length > 0) this.#lagging = lagging
    for (const session of overflowed) this.end(session, 'overflow', CLOSE.policy, 'too much is not acknowledged')
    this.#budget.enforce()
    return deliveries
  }

  /** Bytes that a session accounts for: what is held for it alone, and its part of what others wait for as well. */
  weightOf(session: HubSession): number {
    return session.keptShare + this.events.bytesOf(session)
  }

  /** Queues a message for one session; `false` when it has ended. */
  tell(session: HubSession, payload: Payload, now: number): boolean {
    if (this.roster.get(session.connectionId) !== session) return false
    return this.deliver(new Set([session]), { type: 'serverMessage', payload }, now) > 0
  }

  /** What the application or the token of a client decides is done in any case; what a client asks for needs room. */
  #mayJoin(session: HubSession, group: string): boolean {
    return session.joined.has(group) || this.#budget.hasRoomFor(session.owner, membershipBytes(group))
  }

  /** The listener may already have ended the session, or its membership. */
  #tellJoined(session: HubSession, group: string): void {
    if (this.roster.ofGroup(group).has(session)) this.#listener.joined?.(session, group)
  }

  /** An event may have the application send messages at once: its sender waits for those who lag behind with them as well. */
  #take(session: HubSession, link: HubLink, data: FrameData, now: number): number {
    session.heardAt = now
    this.#lagging = []
    const before = this.#deliveries
    const frame = this.#decode(session, data)
    if (frame && !this.#requests.take(session, link, frame, data.length, now)) return 0
    this.#budget.enforce()
    if (this.#lagging.length > 0) this.#backpressure.holdAfter(session, link, this.#lagging, now)
    return 1 + this.#deliveries - before
  }

  #decode(session: HubSession, data: FrameData): UpFrame | NewerCall | UnknownFrame | undefined {
    if ((typeof data === 'string') !== session.codec.text) {
      this.end(session, 'violation', CLOSE.wrongKind, `${session.codec.name} has no such kind of message`)
      return undefined
    }
    try {
      return session.codec.decode(data)
    } catch (error) {
      this.end(session, 'violation', CLOSE.malformed, words(error))
      return undefined
    }
  }

  #heard(session: HubSession, now: number): void {
    session.heardAt = now
    this.#watch(session, now + this.#options.idleTimeout / 2)
  }

  #watch(session: HubSession, at: number): void {
    if (session.deadline) this.#deadlines.remove(session.deadline)
    session.deadline = this.#deadlines.add(at, session)
  }

  #due(session: HubSession, now: number): void {
    const { idleTimeout, retention } = this.#options
    const { link } = session
    if (link === undefined) {
      this.end(session, 'expired', CLOSE.policy, '')
      return
    }
    const [askAt, closeAt] = [session.heardAt + idleTimeout / 2, session.heardAt + idleTimeout]
    if (now >= closeAt) {
      session.detach()?.close(CLOSE.goingAway, 'PingTimeout')
      this.#watch(session, now + retention)
      return
    }
    if (now >= askAt) link.ping()
    this.#watch(session, now >= askAt ? closeAt : askAt)
  }
}

/** Is told what happens at a hub. May call the engine back. */
export interface HubListener {
  connected(session: Connection): void
  disconnected(session: Connection, reason: EndReason): void
  /** Whether the application takes the event, to decide on it now or later. */
  event(request: EventRequest): boolean
  /** It has become a member. */
  joined?(session: Connection, group: string): void
  /** It is not a member any more, perhaps because it has ended. */
  left?(session: Connection, group: string): void
  /** Whether a client may do what it asks for; `undefined` leaves that to its permissions. Never raises an error. */
  allows?(session: Connection, action: GroupAction, group: string): boolean | undefined
}

export interface HubEngineOptions {
  /** How long a session without a link is kept, ms. */
  readonly retention: number
  /** A link silent for that long is closed, ms; it is asked for a sign of life after half of it. */
  readonly idleTimeout: number
  /** Makes ids and tokens that cannot be guessed, base64url. */
  readonly secret: (bytes: number) => string
  readonly listener: HubListener
  /** For what waits for clients. Default one without a limit. */
  readonly budget?: MemoryBudget | undefined
}
