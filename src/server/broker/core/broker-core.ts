import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import { PublishEncoder } from '../../../core/mqtt5/publish-encoder.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../../core/util/clock.js'
import { Timeouts } from '../../../core/util/timeouts.js'
import { LIMIT } from '../limits/limits.js'
import { BrokerMemoryBudget, MemoryEvictor } from '../limits/memory-evictor.js'
import { admitConnection, type BrokerQuotas, NO_QUOTAS, QuotaAccounts } from '../limits/quota-accounts.js'
import { copyContentIfSparse, type Message } from '../routing/delivery.js'
import { isTooDeep } from '../routing/filter-trie.js'
import { DEFAULT_RETAINED_LIMITS, RetainedMessages } from '../routing/retained.js'
import { Router, sharedFilter } from '../routing/router.js'
import { releaseSubscription } from '../session/client-subscriptions.js'
import { willSize } from '../session/connect-handler.js'
import { Connection } from '../session/connection.js'
import type { AuthenticatedClient, ConnectionHost, SessionAssignment } from '../session/connection-host.js'
import type { BrokerHandler } from '../session/handler.js'
import type { Link } from '../session/link.js'
import { Session, type SessionHost } from '../session/session.js'
import { OfflineSessions, type OfflineSessionsHost } from './offline-sessions.js'

const CLIENT_ID_TAKEN = 'the client id belongs to somebody else'

/**
 * The broker without its sockets: sessions, subscriptions and what is retained. Everything happens in the turn in which it
 * is asked for, or when the clock says so; so that it can be driven by a simulation as well as by a network.
 */
export class BrokerCore implements ConnectionHost<Connection>, SessionHost, OfflineSessionsHost {
  readonly handler: BrokerHandler
  readonly clock: Clock
  readonly budget: BrokerMemoryBudget
  readonly accounts: QuotaAccounts
  readonly encoder = new PublishEncoder()
  readonly router = new Router()
  readonly retained: RetainedMessages
  readonly timeouts: Timeouts<() => void>
  readonly maximumPacketSize: number
  readonly maxKeepAliveSeconds: number
  readonly #sessions = new Map<string, Session>()
  readonly #connections = new Map<Session, Connection>()
  /** Of clients that are not let in as well; not of one while it is: what ends for it may need memory. */
  readonly #allConnections = new Set<Connection>()
  readonly #offlineSessions: OfflineSessions
  #closing = false
  readonly #deferredTasks = new DeferredTasks()
  readonly #memoryEvictor: MemoryEvictor

  constructor(options: CoreOptions, handler: BrokerHandler) {
    const { clock, maximumPacketSize, maxKeepAliveSeconds, memoryBudget, quotas } = options
    this.handler = handler
    this.clock = clock
    this.accounts = new QuotaAccounts(quotas ?? NO_QUOTAS, () => clock.monotonic())
    this.budget = new BrokerMemoryBudget(memoryBudget, () => this.#memoryEvictor.scheduleEviction())
    this.retained = new RetainedMessages(this.budget, quotas?.total ?? DEFAULT_RETAINED_LIMITS)
    this.timeouts = new Timeouts(clock, task => this.#runSafely(task))
    this.#offlineSessions = new OfflineSessions(this, memoryBudget)
    this.#memoryEvictor = new MemoryEvictor(this, this.#allConnections, this.#sessions)
    this.maximumPacketSize = maximumPacketSize
    this.maxKeepAliveSeconds = maxKeepAliveSeconds
  }

  /** Whose clients are let in. */
  get connections(): Iterable<Connection> {
    return this.#connections.values()
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  get sessionCount(): number {
    return this.#sessions.size
  }

  readonly now = (): number => this.clock.monotonic()

  /** Takes a new network connection. */
  accept(link: Link): Connection {
    const connection = new Connection(link, this)
    this.#allConnections.add(connection)
    return connection
  }

  removeConnection(connection: Connection): void {
    this.#allConnections.delete(connection)
  }

  publish(message: Message, from: Session | undefined): number | undefined {
    const { topic, content, retain } = message
    if (isTooDeep(topic)) return 0
    if (retain && content.payload.length === 0) this.retained.delete(topic)
    else if (retain && !this.retained.set(message, this.now(), from?.account)) return undefined
    return this.#deferredTasks.run(() => this.router.route(message, from))
  }

  /** One connection for a client id (MQTT 5.0, section 3.1.4), and one session, which goes on unless it is to start clean. */
  admit(
    connection: Connection,
    connect: Connect,
    clientId: string,
    { owner, address }: AuthenticatedClient,
  ): SessionAssignment {
    const existing = this.#sessions.get(clientId)
    if (existing?.owner !== undefined && existing.owner.id !== owner?.id) {
      this.handler.onAdmissionRejected?.(connection, CLIENT_ID_TAKEN)
      throw new PacketError(REASON.notAuthorized, CLIENT_ID_TAKEN)
    }
    const previousConnection = existing && this.#connections.get(existing)
    const account = this.accounts.of(owner, address)
    const isTakeover = previousConnection !== undefined && existing?.account === account
    admitConnection(account, isTakeover, () => this.handler.onQuotaExceeded?.(connection, 'connect', clientId))
    this.#allConnections.delete(connection)
    previousConnection?.disconnect(REASON.sessionTakenOver, 'another connection has the same client id')
    const resumed = connect.cleanStart ? undefined : this.#sessions.get(clientId)
    if (resumed === undefined && existing !== undefined) this.end(existing)
    const session = resumed ?? new Session(clientId, this)
    if (resumed) this.#offlineSessions.remove(resumed)
    session.expirySeconds = Math.min(connect.sessionExpiry, LIMIT.sessionExpirySeconds)
    session.owner = owner
    session.setAccount(account)
    if (resumed) this.#revokeSubscriptions(resumed)
    this.#sessions.set(clientId, session)
    this.#connections.set(session, connection)
    this.#allConnections.add(connection)
    return { session, isSessionPresent: resumed !== undefined }
  }

  detach(connection: Connection, session: Session, will: Will | undefined): void {
    session.suspend()
    this.#connections.delete(session)
    session.account?.connections.release()
    this.handler.onDisconnected(connection)
    const delayMs = 1000 * Math.min(will?.delay ?? 0, session.expirySeconds)
    if (will && delayMs === 0) {
      this.budget.release(willSize(will))
      this.scheduleWill(connection, session, will)
    }
    if (session.isPersistent) this.#offlineSessions.add(connection, session, will, delayMs)
    else this.end(session)
  }

  /** Ends a session: it leads nowhere any more, and its last will is published. */
  end(session: Session): void {
    if (session.isEnded) return
    for (const subscription of session.subscriptions.values()) {
      this.router.remove(subscription)
      releaseSubscription(session, subscription.filter, this)
    }
    if (this.#sessions.get(session.clientId) === session) this.#sessions.delete(session.clientId)
    this.#offlineSessions.publishWill(session)
    this.#offlineSessions.remove(session)
    session.end()
  }

  scheduleWill(client: Client, session: Session, will: Will): void {
    // Who is too slow for a message may lose its connection: its will comes behind the message, for all others as well.
    this.#deferredTasks.defer(() => this.#runSafely(() => this.#publishWill(client, session, will)))
  }

  #publishWill(client: Client, session: Session, will: Will): void {
    // There may be other rules than when the client came.
    if (this.#closing || this.handler.checkPublish(client, will)) return
    if (will.topic === this.handler.topic) {
      this.handler.handlePublish(client, will)
      return
    }
    const { topic, payload, carried, qos, retain, messageExpiry } = will
    const expiresAt = messageExpiry === undefined ? undefined : this.clock.monotonic() + 1000 * messageExpiry
    const content = copyContentIfSparse({ payload, carried, userProperties: {} })
    this.publish({ topic, content, qos, retain, expiresAt }, session)
  }

  evictSession(session: Session): void {
    const connection = this.#connections.get(session)
    if (connection) connection.endWithSession()
    else this.end(session)
  }

  onMemoryExceeded(): void {
    this.#memoryEvictor.evict()
  }

  /**
   * Other rules are in force: sessions and subscriptions end that are not allowed any more, also of those who are away; who
   * is connected is told by the end of its connection, and may come back if it is welcome.
   */
  revalidateSessions(): void {
    for (const session of Array.from(this.#sessions.values())) this.revalidateSession(session)
  }

  revalidateSession(session: Session, owner = session.owner): void {
    session.owner = owner
    const connection = this.#connections.get(session)
    if (session.owner?.canConnect === false) {
      session.expirySeconds = 0
      if (connection) connection.disconnect(REASON.notAuthorized, 'this client is not allowed any more')
      else this.end(session)
    } else if (this.#revokeSubscriptions(session))
      connection?.disconnect(REASON.administrativeAction, 'a subscription is not allowed any more')
    else if (connection && this.handler.hasForbiddenWatch?.(connection))
      connection.disconnect(REASON.administrativeAction, 'a watch is not allowed any more')
  }

  /** Ends all connections. Last wills are not published: no connection is left to get them. */
  close(): void {
    this.#closing = true
    const reason = 'the broker is shutting down'
    for (const each of [...this.connections]) each.disconnect(REASON.serverShuttingDown, reason)
    for (const session of Array.from(this.#sessions.values())) this.end(session)
  }

  /** Ends as a process that is killed: without a word. */
  kill(): void {
    this.#closing = true
    for (const connection of [...this.connections]) connection.cut()
    for (const session of Array.from(this.#sessions.values())) this.end(session)
  }

  /** An error in what nobody waits for must end neither the process nor what else there is to do. */
  #runSafely(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.handler.onError(error, '')
    }
  }

  /** Ends what its owner may not subscribe to, and forgets what waits of it; returns whether something ended. */
  #revokeSubscriptions(session: Session): boolean {
    const { owner } = session
    if (owner === undefined) return false
    session.discard(({ topic }) => !owner.canReceive(topic))
    const filters = Array.from(session.subscriptions.keys())
    const withdrawn = filters.filter(filter => !owner.maySubscribe(sharedFilter(filter) ?? filter))
    for (const filter of withdrawn) this.#unsubscribe(session, filter)
    return withdrawn.length > 0
  }

  #unsubscribe(session: Session, filter: string): void {
    const subscription = session.unsubscribe(filter)
    if (subscription === undefined) return
    session.replays.delete(subscription)
    this.router.remove(subscription)
    releaseSubscription(session, filter, this)
  }
}

/**
 * What is to come behind something that is under way, such as the last will of a client for whom the message was too much:
 * everybody gets that behind the message.
 *
 * @example
 * ```ts
 * afterwards.during(() => router.route(message)) // calls `later(publishWill)`, which waits until it is routed
 * ```
 */
export class DeferredTasks {
  #isRunning = false
  readonly #tasks: (() => void)[] = []

  /** Does the work, and then what was to come behind it. */
  run<T>(work: () => T): T {
    if (this.#isRunning) return work()
    this.#isRunning = true
    try {
      return work()
    } finally {
      this.#isRunning = false
      for (const task of this.#tasks.splice(0)) task()
    }
  }

  /** Does it now if nothing is under way. */
  defer(task: () => void): void {
    if (this.#isRunning) this.#tasks.push(task)
    else task()
  }
}

/** Bounds that are of the operator's choice. */
export interface CoreOptions {
  /** Largest packet a client may send, bytes. */
  readonly maximumPacketSize: number
  /** Longest keep-alive, s; 0 for any. */
  readonly maxKeepAliveSeconds: number
  /** What all clients together may have waiting, retained and incomplete, bytes. */
  readonly memoryBudget: number
  /** Default none; what is retained has the bounds of `LIMIT` then. */
  readonly quotas?: BrokerQuotas | undefined
  readonly clock: Clock
}
