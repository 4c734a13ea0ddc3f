import { DeadlineQueue } from '../../core/util/deadlines.js'
import { DeferredTasks } from '../../core/util/deferred-tasks.js'
import { reason as words } from '../../core/util/errors.js'
import { MemoryBudget } from '../../node/limits/memory-budget.js'
import type { FrameData, NewerCall, Payload, UnknownFrame, UpFrame } from '../wire/frames.js'
import { Backpressure } from './backpressure.js'
import { EventQueue, type EventRequest } from './event-queue.js'
import { CLOSE, type CloseCode, type HubLink } from './hub-link.js'
import { HubSession } from './hub-session.js'
import type { Connection, EndReason, OwnedIdentity, SessionClaim } from './identity.js'
import type { GroupAction } from './permissions.js'
import { fanOut, Requests } from './requests.js'
import { membershipBytes, SessionIndex } from './session-index.js'
import type { DataFrame, SharedCodec } from './shared-codec.js'

const ID_BYTES = 16
const TOKEN_BYTES = 32
/** The maximum size of a sequence ack with white space, in bytes or characters. */
const MAX_SEQUENCE_ACK_SIZE = 100

/**
 * The rules of one hub, without network, timers or clock. Links are passed in, and calls that need the time take it as
 * an argument (ms, monotonic, from any origin). (Client specification; JSON and protobuf subprotocol references.)
 *
 * @example
 * ```ts
 * const session = engine.connect(link, codec, { userId: 'ann' }, 0)
 * engine.receive(session, link, '{"type":"ping"}', 10)
 * engine.dropped(session, link, 1006, 20)
 * ```
 */
export class HubEngine {
  readonly sessionIndex: SessionIndex
  readonly events: EventQueue
  readonly #options: HubEngineOptions
  readonly #listener: HubListener
  readonly #deadlines = new DeadlineQueue<HubSession>()
  readonly #requests: Requests
  readonly #budget: MemoryBudget
  /**
   * The consequences of sessions that ended or caught up. The application may end others in response, such as by a
   * message to all, and a sender that is released may release others.
   */
  readonly #deferredTasks: DeferredTasks
  readonly #backpressure: Backpressure
  #deliveries = 0

  constructor(options: HubEngineOptions) {
    this.#options = options
    this.#listener = options.listener
    this.#budget = options.budget ?? new MemoryBudget()
    this.#deferredTasks = new DeferredTasks(options.onError)
    this.#backpressure = new Backpressure(this.#deferredTasks)
    this.sessionIndex = new SessionIndex(this.#budget)
    this.events = new EventQueue(
      request => options.listener.event(request),
      (session, payload, now) => this.sendToSession(session, payload, now),
      this.#budget,
    )
    this.#requests = new Requests(this.sessionIndex, this.events, this.#backpressure, {
      deliver: (targets, frame, now, excluded) => this.deliver(targets, frame, now, excluded),
      join: (session, group) => this.#canJoin(session, group) && this.join(session, group),
      leave: (session, group) => this.leave(session, group),
      allows: (session, action, group) => options.listener.allows?.(session, action, group),
    })
  }

  get deadline(): number {
    return Math.min(this.#deadlines.earliest, this.events.deadline, this.#backpressure.deadline)
  }

  connect(link: HubLink, codec: SharedCodec, identity: OwnedIdentity, now: number): HubSession {
    const { generateSecret } = this.#options
    const session = new HubSession(generateSecret(ID_BYTES), generateSecret(TOKEN_BYTES), codec, identity, this.#budget)
    this.sessionIndex.add(session)
    this.#recordActivity(session, now)
    session.open(link)
    for (const group of identity.groups ?? []) this.sessionIndex.join(session, group)
    this.#listener.connected(session)
    for (const group of session.groups) this.#notifyJoined(session, group)
    this.#budget.enforce()
    return session
  }

  join(session: HubSession, group: string): boolean {
    const wasMember = session.groupNames.has(group)
    const isMember = this.sessionIndex.join(session, group)
    if (isMember && !wasMember) this.#listener.joined?.(session, group)
    return isMember
  }

  leave(session: HubSession, group: string): void {
    if (!session.groupNames.has(group)) return
    this.sessionIndex.leave(session, group)
    this.#listener.left?.(session, group)
  }

  /** Returns a claim's session if the claim's token is correct. */
  findClaimed({ connectionId, token }: SessionClaim): HubSession | undefined {
    const session = this.sessionIndex.get(connectionId)
    return session?.hasToken(token) ? session : undefined
  }

  /**
   * Resumes a session over a new link, and terminates the session's previous link. Returns `undefined` for an invalid
   * claim.
   */
  recover(claim: SessionClaim, link: HubLink, now: number): HubSession | undefined {
    this.tick(now)
    const session = this.findClaimed(claim)
    if (session === undefined) return undefined
    this.#recordActivity(session, now)
    session.resume(link)
    return session
  }

  /**
   * Processes data from a link, unless the session has a newer link. Holds the link while its sender must wait for
   * receivers, and releases senders that waited for this session.
   *
   * @returns the work done, which is 1 plus 1 for each queued message, or 0 if the frame was not accepted and must be
   * kept
   */
  receive(session: HubSession, link: HubLink, data: FrameData, now: number): number {
    const work = session.link === link ? this.#process(session, link, data, now) : 1
    this.#backpressure.resumeIfCaughtUp(session, now)
    return work
  }

  /** Processes a frame before queued frames if it is an acknowledgement, which is valid in any position. */
  receiveAcknowledgement(session: HubSession, link: HubLink, data: FrameData, now: number): boolean {
    if (session.link !== link || data.length > MAX_SEQUENCE_ACK_SIZE || !session.codec.isSequenceAck(data)) return false
    this.receive(session, link, data, now)
    return true
  }

  onActivity(session: HubSession, link: HubLink, now: number): void {
    if (session.link === link) session.lastReceivedAt = now
  }

  onDrain(session: HubSession, link: HubLink): void {
    if (session.link === link) session.pump()
  }

  /** Handles a closed link. The hub keeps the session unless the client closed the link with code 1000. */
  onLinkClosed(session: HubSession, link: HubLink, code: number, now: number): void {
    if (session.link === link) {
      session.detach()
      if (code === CLOSE.normal) this.end(session, 'client', CLOSE.normal, '')
      else this.#setDeadline(session, now + this.#options.retention)
    }
    this.#backpressure.resumeIfCaughtUp(session, now)
  }

  /** Ends the session of a link that violated the WebSocket protocol. */
  onViolation(session: HubSession, link: HubLink): void {
    if (session.link === link) this.end(session, 'violation', CLOSE.malformed, '')
  }

  /** Handles deadlines. Pings silent links, closes dead links, ends expired sessions and rejects undecided events. */
  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.#onDeadline(due, now)
    }
    this.events.tick(now)
    this.#backpressure.tick(now)
  }

  /** @param onClosed - called when the listener has been notified of all ended sessions */
  close(now: number, onClosed: () => void): void {
    for (const session of this.sessionIndex.all) {
      this.end(session, 'shutdown', CLOSE.goingAway, 'the server is shutting down')
    }
    this.#backpressure.close(now)
    this.#deferredTasks.defer(onClosed)
  }

  end(session: HubSession, reason: EndReason, code: CloseCode, text: string): void {
    if (this.sessionIndex.get(session.connectionId) !== session) return
    this.sessionIndex.remove(session)
    if (session.deadline) this.#deadlines.remove(session.deadline)
    const link = session.detach()
    this.events.dropSession(session)
    session.dispose()
    this.#deferredTasks.defer(() => {
      for (const group of session.groups) this.#listener.left?.(session, group)
      this.#listener.disconnected(session, reason)
    })
    link?.close(code, text)
  }

  /**
   * Queues a message for sessions, including detached sessions. If the message cannot be encoded, throws and queues
   * nothing.
   *
   * @returns the number of sessions
   */
  deliver(
    targets: ReadonlySet<HubSession>,
    frame: DataFrame,
    now: number,
    excluded: ReadonlySet<string> | undefined = undefined,
  ): number {
    const { deliveries, overflowed, lagging } = fanOut(targets, frame, now, excluded)
    this.#deliveries += deliveries
    this.#backpressure.onLagging(lagging)
    for (const session of overflowed) this.end(session, 'overflow', CLOSE.policy, 'too many unacknowledged messages')
    this.#budget.enforce()
    return deliveries
  }

  /** Returns the bytes charged to a session, including its share of messages kept for several sessions. */
  chargedBytesOf(session: HubSession): number {
    return session.chargedBytes + this.events.bytesOf(session)
  }

  sendToSession(session: HubSession, payload: Payload, now: number): boolean {
    if (this.sessionIndex.get(session.connectionId) !== session) return false
    return this.deliver(new Set([session]), { type: 'serverMessage', payload }, now) > 0
  }

  /**
   * Returns whether a session may join a group. Joins by the application or a token are always allowed, but a client's
   * join needs memory budget.
   */
  #canJoin(session: HubSession, group: string): boolean {
    return session.groupNames.has(group) || this.#budget.hasOwnerRoomFor(session.owner, membershipBytes(group))
  }

  /** Notifies the listener of a join, unless the session or its membership has already ended. */
  #notifyJoined(session: HubSession, group: string): void {
    if (this.sessionIndex.ofGroup(group).has(session)) this.#listener.joined?.(session, group)
  }

  /**
   * Processes data. If the application sends messages during an event, the event's sender waits for the members that
   * then lag.
   */
  #process(session: HubSession, link: HubLink, data: FrameData, now: number): number {
    session.lastReceivedAt = now
    this.#backpressure.begin()
    const before = this.#deliveries
    const frame = this.#decode(session, data)
    if (frame && !this.#requests.handle(session, link, frame, data.length, now)) return 0
    this.#budget.enforce()
    this.#backpressure.holdAfter(session, link, now)
    return 1 + this.#deliveries - before
  }

  #decode(session: HubSession, data: FrameData): UpFrame | NewerCall | UnknownFrame | undefined {
    if ((typeof data === 'string') !== session.codec.isText) {
      this.end(session, 'violation', CLOSE.unsupportedData, `${session.codec.name} does not use this message type`)
      return undefined
    }
    try {
      return session.codec.decode(data)
    } catch (error) {
      this.end(session, 'violation', CLOSE.malformed, words(error))
      return undefined
    }
  }

  #recordActivity(session: HubSession, now: number): void {
    session.lastReceivedAt = now
    this.#setDeadline(session, now + this.#options.idleTimeout / 2)
  }

  #setDeadline(session: HubSession, at: number): void {
    if (session.deadline) this.#deadlines.remove(session.deadline)
    session.deadline = this.#deadlines.add(at, session)
  }

  #onDeadline(session: HubSession, now: number): void {
    const { idleTimeout, retention } = this.#options
    const { link } = session
    if (link === undefined) {
      this.end(session, 'expired', CLOSE.policy, '')
      return
    }
    const [pingAt, closeAt] = [session.lastReceivedAt + idleTimeout / 2, session.lastReceivedAt + idleTimeout]
    if (now >= closeAt) {
      session.detach()?.close(CLOSE.goingAway, 'PingTimeout')
      this.#setDeadline(session, now + retention)
      return
    }
    if (now >= pingAt) link.ping()
    this.#setDeadline(session, now >= pingAt ? closeAt : pingAt)
  }
}

/** Receives a hub's events. The listener may call the engine reentrantly. */
export interface HubListener {
  connected(session: Connection): void
  disconnected(session: Connection, reason: EndReason): void
  /** Returns whether the application takes the event, to decide on it now or later. */
  event(request: EventRequest): boolean
  joined?(session: Connection, group: string): void
  /** Called when a membership ends, even if the session ends. */
  left?(session: Connection, group: string): void
  /**
   * Returns whether an action is allowed. `undefined` leaves the decision to the client's permissions. Never throws.
   */
  allows?(session: Connection, action: GroupAction, group: string): boolean | undefined
}

export interface HubEngineOptions {
  /** The time in ms for which a detached session is kept. */
  readonly retention: number
  /** The silence in ms after which a link is closed. The link is pinged after half of that time. */
  readonly idleTimeout: number
  /** Generates unguessable ids and tokens as base64url. */
  readonly generateSecret: (bytes: number) => string
  readonly listener: HubListener
  /** Called with an error that the listener threw when it was notified of an ended session. */
  readonly onError: (error: unknown) => void
  /** The memory budget to charge for data kept for clients. Default: unlimited. */
  readonly budget?: MemoryBudget | undefined
}
