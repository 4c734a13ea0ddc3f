import { DeadlineQueue } from '../../deadlines.js'
import { reason as words } from '../../errors.js'
import type { FrameData, Payload, UnknownFrame, UpFrame } from '../wire/frames.js'
import type { EndReason } from './connection.js'
import type { DataFrame, Dialect } from './dialect.js'
import { EventDesk } from './event-desk.js'
import { fanOut } from './fan-out.js'
import type { HubEngineOptions, HubListener } from './hub-listener.js'
import type { Claim, Identity } from './identity.js'
import { CLOSE, type CloseCode, type Link } from './link.js'
import { Requests } from './requests.js'
import { Roster } from './roster.js'
import { Session } from './session.js'

export type { HubEngineOptions } from './hub-listener.js'

const ID_BYTES = 16
const TOKEN_BYTES = 32

/**
 * The rules of one hub, without network, timers or clock: links are given to it, and every call that needs the time (ms,
 * from any start, never backwards) brings it along. (Client specification; JSON and protobuf subprotocol references.)
 *
 * @example
 * ```ts
 * const session = engine.connect(link, dialect, { userId: 'ann' }, 0)
 * engine.receive(session, link, '{"type":"ping"}', 10)
 * engine.dropped(session, link, 1006, 20)
 * ```
 */
export class HubEngine {
  readonly roster = new Roster()
  readonly events: EventDesk
  /** After {@link receive}: sessions that lag behind with what was sent, for which the sender had better wait. */
  lagging: readonly Session[] = []
  readonly #options: HubEngineOptions
  readonly #listener: HubListener
  readonly #deadlines = new DeadlineQueue<Session>()
  readonly #requests: Requests
  #deliveries = 0

  constructor(options: HubEngineOptions) {
    this.#options = options
    this.#listener = options.listener
    this.events = new EventDesk(
      request => options.listener.event(request),
      (session, payload) => this.tell(session, payload),
    )
    this.#requests = new Requests(this.roster, this.events, {
      deliver: (targets, frame, spared) => this.deliver(targets, frame, spared),
      join: (session, group) => this.join(session, group),
      leave: (session, group) => this.leave(session, group),
      allows: (session, action, group) => options.listener.allows?.(session, action, group),
    })
  }

  /** When {@link tick} has something to do next. */
  get nextDeadline(): number | undefined {
    const [session, event] = [this.#deadlines.peek()?.at, this.events.nextDeadline]
    return session === undefined || event === undefined ? (session ?? event) : Math.min(session, event)
  }

  /** Begins a session. */
  connect(link: Link, dialect: Dialect, identity: Identity, now: number): Session {
    const { secret } = this.#options
    const session = new Session(secret(ID_BYTES), secret(TOKEN_BYTES), dialect, identity)
    this.roster.add(session)
    this.#heard(session, now)
    session.open(link)
    for (const group of identity.groups ?? []) this.roster.join(session, group)
    this.#listener.connected(session)
    for (const group of session.groups) this.#tellJoined(session, group)
    return session
  }

  /** Makes a session a member of a group, if it is not in too many already. */
  join(session: Session, group: string): boolean {
    const wasMember = session.joined.has(group)
    const isMember = this.roster.join(session, group)
    if (isMember && !wasMember) this.#listener.joined?.(session, group)
    return isMember
  }

  /** Ends a membership, if there is one. */
  leave(session: Session, group: string): void {
    if (!session.joined.has(group)) return
    this.roster.leave(session, group)
    this.#listener.left?.(session, group)
  }

  /** The session a claim is right for. */
  find({ connectionId, token }: Claim): Session | undefined {
    const session = this.roster.get(connectionId)
    return session?.hasToken(token) ? session : undefined
  }

  /** Goes on with a session at a new link, or `undefined` when the claim is wrong. A link it still has is cut. */
  recover(claim: Claim, link: Link, now: number): Session | undefined {
    this.tick(now)
    const session = this.find(claim)
    if (session === undefined) return undefined
    this.#heard(session, now)
    session.resume(link)
    return session
  }

  /**
   * Takes what came over a link; nothing, if the session has another link by now.
   *
   * @returns how much work it was: 1, and 1 for each message queued
   */
  receive(session: Session, link: Link, data: FrameData, now: number): number {
    this.lagging = []
    if (session.link !== link) return 1
    session.heardAt = now
    const before = this.#deliveries
    const frame = this.#decode(session, data)
    if (frame !== undefined) this.#handle(session, frame, data.length, now)
    return 1 + this.#deliveries - before
  }

  /** A sign of life that is no frame. */
  alive(session: Session, link: Link, now: number): void {
    if (session.link === link) session.heardAt = now
  }

  /** A link takes more again. */
  drained(session: Session, link: Link): void {
    if (session.link === link) session.pump()
  }

  /** A link is gone, with a WebSocket close code. The session is kept unless the client said that it is over. */
  dropped(session: Session, link: Link, code: number, now: number): void {
    if (session.link !== link) return
    if (code === CLOSE.normal) {
      this.end(session, 'client', CLOSE.normal, '')
      return
    }
    session.detach()
    this.#watch(session, now + this.#options.retention)
  }

  /** A link broke the rules below the subprotocol and closes for that reason. */
  violated(session: Session, link: Link): void {
    if (session.link === link) this.end(session, 'violation', CLOSE.malformed, '')
  }

  /** Does what is due: asks silent links for a sign of life, closes them, ends sessions, answers forgotten events. */
  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.#due(due, now)
    }
    this.events.tick(now)
  }

  /** Ends a session and forgets it. */
  end(session: Session, reason: EndReason, code: CloseCode, text: string): void {
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
  deliver(targets: ReadonlySet<Session>, frame: DataFrame, spared?: ReadonlySet<string>): number {
    const { deliveries, overflowed, lagging } = fanOut(targets, frame, spared)
    this.#deliveries += deliveries
    if (lagging.length > 0) this.lagging = lagging
    for (const session of overflowed) this.end(session, 'overflow', CLOSE.policy, 'too much is not acknowledged')
    return deliveries
  }

  /** Queues a message for one session; `false` when it has ended. */
  tell(session: Session, payload: Payload): boolean {
    if (this.roster.get(session.connectionId) !== session) return false
    return this.deliver(new Set([session]), { type: 'serverMessage', payload }) > 0
  }

  /** Whoever was told of the session may have ended it, or its membership, already. */
  #tellJoined(session: Session, group: string): void {
    if (this.roster.ofGroup(group).has(session)) this.#listener.joined?.(session, group)
  }

  #decode(session: Session, data: FrameData): UpFrame | UnknownFrame | undefined {
    if ((typeof data === 'string') !== session.dialect.text) {
      this.end(session, 'violation', CLOSE.wrongKind, `${session.dialect.name} has no such kind of message`)
      return undefined
    }
    try {
      return session.dialect.decode(data)
    } catch (error) {
      this.end(session, 'violation', CLOSE.malformed, words(error))
      return undefined
    }
  }

  #handle(session: Session, frame: UpFrame | UnknownFrame, size: number, now: number): void {
    switch (frame.type) {
      case 'unknown':
        return
      case 'ping':
        session.pong()
        return
      case 'sequenceAck':
        session.acknowledge(frame.sequenceId)
        return
      default:
        this.#requests.handle(session, frame, size, now)
    }
  }

  #heard(session: Session, now: number): void {
    session.heardAt = now
    this.#watch(session, now + this.#options.idleTimeout / 2)
  }

  #watch(session: Session, at: number): void {
    if (session.deadline) this.#deadlines.remove(session.deadline)
    session.deadline = this.#deadlines.add(at, session)
  }

  #due(session: Session, now: number): void {
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
