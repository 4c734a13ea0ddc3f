import type { Clock } from '../base/clock.js'
import { Timeouts } from '../base/timeouts.js'
import { PacketError } from '../packet/packet-error.js'
import type { Connect, Will } from '../packet/packets.js'
import { PublishEncoder } from '../packet/publish-encoder.js'
import * as REASON from '../packet/reason-codes.js'
import type { Absence } from './absence.js'
import { enter } from './account.js'
import { Accounts } from './accounts.js'
import { Budget } from './budget.js'
import { Connection } from './connection.js'
import { type Message, ownContent } from './delivery.js'
import { willSize } from './guest.js'
import type { BrokerHandler } from './handler.js'
import type { Admitted, Host, Visitor } from './host.js'
import { isTooDeep } from './levels.js'
import { LIMIT } from './limits.js'
import type { Link } from './link.js'
import { type BrokerQuotas, NO_QUOTAS } from './quotas.js'
import { RETAINED_BOUNDS, Retained } from './retained.js'
import { Router } from './router.js'
import { Session, type SessionHost } from './session.js'
import { sharedFilter } from './subscription.js'
import { discountSubscription } from './subscription-quota.js'

/** Bounds that are of the operator's choice. */
export interface CoreOptions {
  /** Largest packet a client may send, bytes. */
  readonly maximumPacketSize: number
  /** Longest keep-alive, s; 0 for any. */
  readonly maximumKeepAlive: number
  /** What all clients together may have waiting, retained and incomplete, bytes. */
  readonly memoryBudget: number
  /** Default none; what is retained has the bounds of `LIMIT` then. */
  readonly quotas?: BrokerQuotas | undefined
  readonly clock: Clock
}

/** So much of one session's is worth being looked for when memory is short, bytes. */
const WORTH_ENDING = 64 * 1024
/** Of the memory of all clients: what is kept for those who are away must not keep others from coming. */
const WILL_SHARE = 1 / 8
/** ms */
const RELIEF_INTERVAL = 10

/**
 * The broker without its sockets: sessions, subscriptions and what is retained. Everything happens in the turn in which it
 * is asked for, or when the clock says so; so that it can be driven by a simulation as well as by a network.
 */
export class BrokerCore implements Host<Connection>, SessionHost {
  readonly handler: BrokerHandler
  readonly clock: Clock
  readonly budget: Budget
  readonly accounts: Accounts
  readonly encoder = new PublishEncoder()
  readonly router = new Router()
  readonly retained: Retained
  readonly timeouts: Timeouts<() => void>
  readonly maximumPacketSize: number
  readonly maximumKeepAlive: number
  readonly #sessions = new Map<string, Session>()
  readonly #connections = new Map<Session, Connection>()
  /** Those who are away longest come first. */
  readonly #absences = new Map<Session, Absence>()
  /** Last wills that wait, and the room there is for them, bytes; then those are published that wait longest. */
  #willBytes = 0
  readonly #mostWillBytes: number
  #closing = false
  /** When room was made last, ms. */
  #relieved = Number.NEGATIVE_INFINITY

  constructor(options: CoreOptions, handler: BrokerHandler) {
    const { clock, maximumPacketSize, maximumKeepAlive, memoryBudget, quotas } = options
    this.handler = handler
    this.clock = clock
    this.accounts = new Accounts(quotas ?? NO_QUOTAS, () => clock.monotonic())
    this.budget = new Budget(memoryBudget)
    this.#mostWillBytes = memoryBudget * WILL_SHARE
    this.retained = new Retained(this.budget, quotas?.total ?? RETAINED_BOUNDS)
    this.timeouts = new Timeouts(clock, task => this.#run(task))
    this.maximumPacketSize = maximumPacketSize
    this.maximumKeepAlive = maximumKeepAlive
  }

  /** Connections whose clients are let in. */
  get connections(): Iterable<Connection> {
    return this.#connections.values()
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Sessions, also of those who are away. */
  get sessionCount(): number {
    return this.#sessions.size
  }

  now(): number {
    return this.clock.monotonic()
  }

  /** Takes a new network connection. */
  accept(link: Link): Connection {
    return new Connection(link, this)
  }

  publish(message: Message, from: Session | undefined): number | undefined {
    const { topic, content, retain } = message
    if (isTooDeep(topic)) return 0
    if (retain && content.payload.length === 0) this.retained.delete(topic)
    else if (retain && !this.retained.set(message, this.now(), from?.account)) return undefined
    return this.router.route(message, from)
  }

  /** One connection for a client id (MQTT 5.0, section 3.1.4), and one session, which goes on unless it is to start clean. */
  admit(connection: Connection, connect: Connect, clientId: string, { holder, address }: Visitor): Admitted {
    const before = this.#sessions.get(clientId)
    if (before?.holder !== undefined && before.holder.id !== holder?.id)
      throw new PacketError(REASON.notAuthorized, 'the client id belongs to somebody else')
    const other = before && this.#connections.get(before)
    const account = this.accounts.of(holder, address)
    const replacing = other !== undefined && before?.account === account
    enter(account, replacing, () => this.handler.exceeded?.(connection, 'connect', clientId))
    other?.disconnect(REASON.sessionTakenOver, 'another connection has the same client id')
    const kept = connect.cleanStart ? undefined : this.#sessions.get(clientId)
    if (kept === undefined && before !== undefined) this.#end(before)
    const session = kept ?? new Session(clientId, this)
    if (kept) this.#forgetAbsence(kept)
    session.expiry = Math.min(connect.sessionExpiry, LIMIT.sessionExpiry)
    session.holder = holder
    session.moveTo(account)
    if (kept) this.#withdraw(kept)
    this.#sessions.set(clientId, session)
    this.#connections.set(session, connection)
    return { session, present: kept !== undefined }
  }

  leave(connection: Connection, session: Session, will: Will | undefined): void {
    session.suspend()
    this.#connections.delete(session)
    session.account?.connections.give()
    this.handler.disconnected(connection)
    const now = this.clock.monotonic()
    const delay = 1000 * Math.min(will?.delay ?? 0, session.expiry)
    if (will && delay === 0) {
      this.budget.give(willSize(will))
      this.#bequeath(connection, session, will)
    }
    if (!session.lasting) {
      this.#end(session)
      return
    }
    const expiry = this.timeouts.add(now + 1000 * session.expiry, () => this.#end(session))
    const due = will && delay > 0 ? this.timeouts.add(now + delay, () => this.#publishWill(session)) : undefined
    this.#absences.set(session, { expiry, will: will && due && { connection, message: will, due } })
    if (will && due) this.#willBytes += willSize(will)
    this.#boundAbsences()
  }

  overflowed(session: Session): void {
    const connection = this.#connections.get(session)
    if (connection) connection.abandon()
    else this.#end(session)
  }

  pressed(): void {
    // It looks at all sessions, and what it frees lasts for a while.
    if (this.now() < this.#relieved + RELIEF_INTERVAL) return
    this.#relieved = this.now()
    let fattest: Session | undefined
    for (const session of this.#sessions.values())
      if (session.outbox.bytes > (fattest?.outbox.bytes ?? WORTH_ENDING)) fattest = session
    if (fattest) this.overflowed(fattest)
  }

  /**
   * Other rules are in force: sessions and subscriptions end that are not allowed any more, also of those who are away; who
   * is connected is told by the end of its connection, and may come back if it is welcome.
   */
  review(): void {
    for (const session of Array.from(this.#sessions.values())) {
      const connection = this.#connections.get(session)
      if (session.holder?.welcome === false) {
        session.expiry = 0
        if (connection) connection.disconnect(REASON.notAuthorized, 'this client is not allowed any more')
        else this.#end(session)
      } else if (this.#withdraw(session)) {
        connection?.disconnect(REASON.administrativeAction, 'a subscription is not allowed any more')
      }
    }
  }

  /** Ends all connections. Last wills are not published: there is nobody left to get them. */
  close(): void {
    this.#closing = true
    for (const connection of Array.from(this.#connections.values()))
      connection.disconnect(REASON.serverShuttingDown, 'the broker is shutting down')
    for (const session of Array.from(this.#sessions.values())) this.#end(session)
  }

  /** Ends as a process that is killed: nobody is told. */
  die(): void {
    this.#closing = true
    for (const connection of Array.from(this.#connections.values())) connection.cut()
    for (const session of Array.from(this.#sessions.values())) this.#end(session)
  }

  /** An error in what the clock asks for must not end the process. */
  #run(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.handler.failed(error, '')
    }
  }

  /** Ends what its holder may not subscribe to; returns whether there was something. */
  #withdraw(session: Session): boolean {
    const { holder } = session
    if (holder === undefined) return false
    const filters = Array.from(session.subscriptions.keys())
    const withdrawn = filters.filter(filter => !holder.maySubscribe(sharedFilter(filter) ?? filter))
    for (const filter of withdrawn) this.#unsubscribe(session, filter)
    return withdrawn.length > 0
  }

  #unsubscribe(session: Session, filter: string): void {
    const subscription = session.unsubscribe(filter)
    if (subscription === undefined) return
    session.replays.delete(subscription)
    this.router.remove(subscription)
    discountSubscription(session, filter, this)
  }

  #end(session: Session): void {
    if (session.ended) return
    for (const subscription of session.subscriptions.values()) {
      this.router.remove(subscription)
      discountSubscription(session, subscription.filter, this)
    }
    if (this.#sessions.get(session.clientId) === session) this.#sessions.delete(session.clientId)
    this.#publishWill(session)
    this.#forgetAbsence(session)
    session.end()
  }

  /** The last will of somebody who is away, now: its delay is over, or the session. */
  #publishWill(session: Session): void {
    const absence = this.#absences.get(session)
    const will = absence?.will
    if (absence === undefined || will === undefined) return
    this.#forgetWill(absence)
    this.#absences.set(session, { expiry: absence.expiry, will: undefined })
    this.#bequeath(will.connection, session, will.message)
  }

  #bequeath(connection: Connection, session: Session, will: Will): void {
    // There may be other rules than when the client came.
    if (this.#closing || this.handler.refuse(connection, will)) return
    if (will.topic === this.handler.topic) {
      this.handler.take(connection, will)
      return
    }
    const { topic, payload, carried, qos, retain, messageExpiry } = will
    const expiresAt = messageExpiry === undefined ? undefined : this.clock.monotonic() + 1000 * messageExpiry
    const content = ownContent({ payload, carried, userProperties: {} })
    this.publish({ topic, content, qos, retain, expiresAt }, session)
  }

  #forgetAbsence(session: Session): void {
    const absence = this.#absences.get(session)
    if (absence === undefined) return
    this.#absences.delete(session)
    this.timeouts.remove(absence.expiry)
    this.#forgetWill(absence)
  }

  #forgetWill({ will }: Absence): void {
    if (will === undefined) return
    this.timeouts.remove(will.due)
    const bytes = willSize(will.message)
    this.#willBytes -= bytes
    this.budget.give(bytes)
  }

  #boundAbsences(): void {
    for (const [session, { will }] of this.#absences) {
      const crowded = this.#absences.size > LIMIT.offlineSessions
      const talkative = will !== undefined && this.#willBytes > this.#mostWillBytes
      if (crowded || talkative) this.#end(session)
      else if (this.#willBytes <= this.#mostWillBytes) return
    }
  }
}
