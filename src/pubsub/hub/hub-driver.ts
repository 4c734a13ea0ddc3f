import { Subject } from 'rxjs'
import { randomBytes } from '../../backoff.js'
import type { Clock } from '../../clock.js'
import type { FrameData } from '../wire/frames.js'
import type { Connection, EndReason } from './connection.js'
import type { Dialect } from './dialect.js'
import type { EventRequest } from './event-request.js'
import { type GroupAction, GroupGuards } from './group-guard.js'
import { HubEngine } from './hub-engine.js'
import type { HubListener } from './hub-listener.js'
import type { Claim, Identity } from './identity.js'
import { CLOSE, type Link } from './link.js'
import { Pacing, type Source } from './pacing.js'
import type { Session } from './session.js'
import { UserEvent } from './user-event.js'

/** A session began or ended. Losing a network connection is neither. */
export type ConnectionEvent =
  | { readonly type: 'connected'; readonly connection: Connection }
  | { readonly type: 'disconnected'; readonly connection: Connection; readonly reason: EndReason }

/** A connection became a member of a group, or is none any more, for whatever reason. */
export interface MembershipEvent {
  readonly type: 'joined' | 'left'
  readonly connection: Connection
  readonly group: string
}

export interface HubDriverOptions {
  readonly retention: number
  readonly idleTimeout: number
  readonly clock: Clock
}

/** A hub's rules at work: gives them the time, and the application what happens. */
export class HubDriver implements HubListener {
  readonly engine: HubEngine
  readonly connections$ = new Subject<ConnectionEvent>()
  readonly memberships$ = new Subject<MembershipEvent>()
  readonly events$ = new Subject<UserEvent>()
  readonly guards = new GroupGuards()
  readonly #clock: Clock
  readonly #pacing: Pacing
  #armedFor = Number.POSITIVE_INFINITY
  #disarm: (() => void) | undefined
  #closed = false

  constructor(options: HubDriverOptions) {
    const { retention, idleTimeout, clock } = options
    this.#clock = clock
    this.#pacing = new Pacing(clock)
    this.engine = new HubEngine({ retention, idleTimeout, secret, listener: this })
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
    this.events$.next(new UserEvent(this.engine.events, request))
    return true
  }

  connect(link: Link, dialect: Dialect, identity: Identity): Session {
    const session = this.engine.connect(link, dialect, identity, this.#clock.monotonic())
    this.#arm()
    return session
  }

  recover(claim: Claim, link: Link): Session | undefined {
    const session = this.engine.recover(claim, link, this.#clock.monotonic())
    this.#arm()
    return session
  }

  receive(session: Session, link: Link & Source, frame: FrameData): number {
    const work = this.engine.receive(session, link, frame, this.#clock.monotonic())
    const { lagging } = this.engine
    if (lagging.length > 0) this.#pacing.hold(session, link, lagging)
    this.#pacing.review(session)
    this.#arm()
    return work
  }

  alive(session: Session, link: Link): void {
    this.engine.alive(session, link, this.#clock.monotonic())
  }

  dropped(session: Session, link: Link, code: number): void {
    this.engine.dropped(session, link, code, this.#clock.monotonic())
    this.#pacing.review(session)
    this.#arm()
  }

  /** Ends all sessions and all observables. */
  close(): void {
    for (const session of this.engine.roster.all) {
      this.engine.end(session, 'shutdown', CLOSE.goingAway, 'the server is shutting down')
    }
    this.#closed = true
    this.#pacing.close()
    this.#disarm?.()
    this.connections$.complete()
    this.memberships$.complete()
    this.events$.complete()
  }

  // One timer for everything. It is never put off: what it finds undone it comes back for.
  #arm(): void {
    const deadline = this.engine.nextDeadline ?? Number.POSITIVE_INFINITY
    if (this.#closed || deadline >= this.#armedFor) return
    this.#disarm?.()
    this.#armedFor = deadline
    this.#disarm = this.#clock.schedule(deadline - this.#clock.monotonic(), () => this.#tick())
  }

  #tick(): void {
    this.#armedFor = Number.POSITIVE_INFINITY
    this.engine.tick(this.#clock.monotonic())
    this.#arm()
  }
}

const secret = (bytes: number): string => Buffer.from(randomBytes(bytes)).toString('base64url')
