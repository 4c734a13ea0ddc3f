import { Subject } from 'rxjs'
import { randomBytes } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { DeadlineTimer } from '../../core/util/timeouts.js'
import type { MemoryBudget } from '../../node/limits/memory-budget.js'
import type { FrameData } from '../wire/frames.js'
import type { EventRequest } from './event-queue.js'
import { HubEngine, type HubListener } from './hub-engine.js'
import type { HubLink } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import type { Connection, EndReason, OwnedIdentity, SessionClaim } from './identity.js'
import { type GroupAction, GroupGuards } from './permissions.js'
import type { DataFrame, SharedCodec } from './shared-codec.js'
import { UserEvent } from './user-event.js'
import type { WebSocketLink } from './websocket-link.js'

/** The start or end of a session. The loss of a network connection is neither. */
export type ConnectionEvent =
  | { readonly type: 'connected'; readonly connection: Connection }
  | { readonly type: 'disconnected'; readonly connection: Connection; readonly reason: EndReason }

/** The join or leave of a connection in a group, for any reason. */
export interface MembershipEvent {
  readonly type: 'joined' | 'left'
  readonly connection: Connection
  readonly group: string
}

export interface HubDriverOptions {
  readonly budget?: MemoryBudget | undefined
  readonly retention: number
  readonly idleTimeout: number
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** Connects a hub engine to the clock, to links and to the application. */
export class HubDriver implements HubListener {
  readonly engine: HubEngine
  readonly connections$ = new Subject<ConnectionEvent>()
  readonly memberships$ = new Subject<MembershipEvent>()
  readonly events$ = new Subject<UserEvent>()
  readonly guards = new GroupGuards()
  readonly #clock: Clock
  readonly #deadlineTimer: DeadlineTimer

  constructor(options: HubDriverOptions) {
    const { retention, idleTimeout, clock, budget, onError } = options
    this.#clock = clock
    this.#deadlineTimer = new DeadlineTimer(clock, () => this.#tick())
    this.engine = new HubEngine({ retention, idleTimeout, generateSecret, listener: this, budget, onError })
  }

  connected(connection: Connection): void {
    this.connections$.next({ type: 'connected', connection })
  }

  disconnected(connection: Connection, reason: EndReason): void {
    this.connections$.next({ type: 'disconnected', connection, reason })
  }

  joined(connection: Connection, group: string): void {
    this.memberships$.next({ type: 'joined', connection, group })
  }

  left(connection: Connection, group: string): void {
    this.memberships$.next({ type: 'left', connection, group })
  }

  allows(connection: Connection, action: GroupAction, group: string): boolean | undefined {
    return this.guards.decide(connection, action, group)
  }

  event(request: EventRequest): boolean {
    if (!this.events$.observed) return false
    this.events$.next(new UserEvent(this.engine.events, request, () => this.#clock.monotonic()))
    return true
  }

  connect(link: HubLink, codec: SharedCodec, identity: OwnedIdentity): HubSession {
    const session = this.engine.connect(link, codec, identity, this.#clock.monotonic())
    this.#scheduleTick()
    return session
  }

  recover(claim: SessionClaim, link: HubLink): HubSession | undefined {
    const session = this.engine.recover(claim, link, this.#clock.monotonic())
    this.#scheduleTick()
    return session
  }

  deliver(targets: ReadonlySet<HubSession>, frame: DataFrame, spared?: ReadonlySet<string>): number {
    return this.engine.deliver(targets, frame, this.#clock.monotonic(), spared)
  }

  attachLink(session: HubSession, link: WebSocketLink): void {
    link.listen({
      receive: frame => this.receive(session, link, frame),
      receiveAcknowledgement: frame => this.receiveAcknowledgement(session, link, frame),
      onActivity: () => this.onActivity(session, link),
      onDrain: () => this.engine.onDrain(session, link),
      onViolation: () => this.engine.onViolation(session, link),
      onClosed: code => this.onLinkClosed(session, link, code),
    })
  }

  /** Processes a frame. Returns the work done, or 0 if the link is held and must keep the frame. */
  receive(session: HubSession, link: HubLink, frame: FrameData): number {
    const work = this.engine.receive(session, link, frame, this.#clock.monotonic())
    this.#scheduleTick()
    return work
  }

  /**
   * Processes a sequence ack before other frames, because senders may be waiting for the ack. Returns whether the frame
   * was a sequence ack.
   */
  receiveAcknowledgement(session: HubSession, link: HubLink, frame: FrameData): boolean {
    return this.engine.receiveAcknowledgement(session, link, frame, this.#clock.monotonic())
  }

  onActivity(session: HubSession, link: HubLink): void {
    this.engine.onActivity(session, link, this.#clock.monotonic())
  }

  onLinkClosed(session: HubSession, link: HubLink, code: number): void {
    this.engine.onLinkClosed(session, link, code, this.#clock.monotonic())
    this.#scheduleTick()
  }

  /** Ends all sessions and completes all observables. */
  close(): void {
    this.engine.close(this.#clock.monotonic(), () => {
      this.connections$.complete()
      this.memberships$.complete()
      this.events$.complete()
    })
    this.#scheduleTick()
  }

  #scheduleTick(): void {
    this.#deadlineTimer.set(this.engine.deadline)
  }

  #tick(): void {
    this.engine.tick(this.#clock.monotonic())
    this.#scheduleTick()
  }
}

const generateSecret = (bytes: number): string => Buffer.from(randomBytes(bytes)).toString('base64url')
