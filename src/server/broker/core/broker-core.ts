import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import { PublishEncoder } from '../../../core/mqtt5/publish-encoder.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../../core/util/clock.js'
import { DeferredTasks } from '../../../core/util/deferred-tasks.js'
import { Timeouts } from '../../../core/util/timeouts.js'
import { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { MemoryEvictor } from '../../../node/limits/memory-evictor.js'
import { LIMIT } from '../limits/limits.js'
import { admitConnection, type BrokerQuotas, NO_QUOTAS, QuotaAccounts } from '../limits/quota-accounts.js'
import { Traffic } from '../limits/traffic.js'
import { type Delivery, type Message, sizeOf } from '../routing/delivery.js'
import { isTooDeep } from '../routing/filter-trie.js'
import { DEFAULT_RETAINED_LIMITS, type MessageTest, RetainedMessages } from '../routing/retained-messages.js'
import { Router, sharedFilter } from '../routing/router.js'
import { releaseSubscription } from '../session/client-subscriptions.js'
import { Connection } from '../session/connection.js'
import type { AuthenticatedClient, ConnectionHost, SessionAssignment } from '../session/connection-host.js'
import type { BrokerHandler, SessionOwner } from '../session/handler.js'
import type { Link } from '../session/link.js'
import { Session, type SessionHost } from '../session/session.js'
import { Wills, type WillsHost } from '../session/wills.js'
import { OfflineSessions, type OfflineSessionsHost } from './offline-sessions.js'
import { type BrokerGauges, SysTopics, type SysTopicsHost, type SysTopicsOptions } from './sys-topics.js'

/** The number of times that one eviction removes expired retained messages. */
const MAX_EXPIRY_STEPS = 64
const CLIENT_ID_TAKEN = 'the client id belongs to another principal'

/**
 * The broker without sockets. It works only synchronously, within a call or a clock callback, which makes simulation
 * possible.
 */
export class BrokerCore
  implements ConnectionHost<Connection>, SessionHost, OfflineSessionsHost, WillsHost, SysTopicsHost
{
  readonly handler: BrokerHandler
  readonly clock: Clock
  readonly budget: MemoryBudget
  readonly accounts: QuotaAccounts
  readonly encoder = new PublishEncoder()
  readonly traffic = new Traffic()
  readonly router = new Router()
  readonly retained: RetainedMessages
  readonly timeouts: Timeouts<() => void>
  readonly wills: Wills
  readonly maximumPacketSize: number
  readonly maxKeepAliveSeconds: number
  readonly #sessions = new Map<string, Session>()
  readonly #connections = new Map<Session, Connection>()
  /**
   * All connections, unauthenticated connections included. A connection is absent during its admission, because the
   * admission may cause evictions.
   */
  readonly #allConnections = new Set<Connection>()
  readonly #offlineSessions: OfflineSessions
  #closing = false
  /** The wills and the reassigned messages of sessions that ended. Each of them may end other sessions. */
  readonly #deferredTasks = new DeferredTasks(error => this.handler.onError(error, ''))
  readonly #memoryEvictor: MemoryEvictor
  readonly #runSliced: NonNullable<CoreOptions['runSliced']>
  readonly #sysTopics: SysTopics | undefined

  constructor(options: CoreOptions, handler: BrokerHandler) {
    const { clock, maximumPacketSize, maxKeepAliveSeconds, memoryBudget, quotas } = options
    this.handler = handler
    this.clock = clock
    this.accounts = new QuotaAccounts(quotas ?? NO_QUOTAS, () => clock.monotonic())
    this.budget = new MemoryBudget(
      memoryBudget,
      () => this.#deferredTasks.run(this.#memoryEvictor.evict),
      () => this.#memoryEvictor.scheduleEviction(),
    )
    this.retained = new RetainedMessages(this.budget, quotas?.total ?? DEFAULT_RETAINED_LIMITS)
    this.timeouts = new Timeouts(clock, task => this.#runSafely(() => this.#deferredTasks.run(task)))
    this.wills = new Wills(this, memoryBudget)
    this.#offlineSessions = new OfflineSessions(this)
    this.#memoryEvictor = new MemoryEvictor(this, this.#sessions, this.#allConnections)
    this.maximumPacketSize = maximumPacketSize
    this.maxKeepAliveSeconds = maxKeepAliveSeconds
    this.#runSliced = options.runSliced ?? (work => void work(Number.POSITIVE_INFINITY))
    this.#sysTopics = options.sysTopics && new SysTopics(options.sysTopics, this)
  }

  get connections(): Iterable<Connection> {
    return this.#connections.values()
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  get sessionCount(): number {
    return this.#sessions.size
  }

  /** The number of wills: those of connected clients and delayed ones. */
  get willCount(): number {
    let count = this.wills.delayedCount
    for (const { hasWill } of this.connections) if (hasWill) count++
    return count
  }

  readonly now = (): number => this.clock.monotonic()

  accept(link: Link): Connection {
    const connection = new Connection(link, this)
    this.#allConnections.add(connection)
    this.traffic.socketsOpened++
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

  get lastRetainedSequence(): number {
    return this.retained.lastSequence
  }

  retainedMessages(filter: string, isLost: MessageTest): Iterator<Message | undefined> {
    return this.#sysTopics?.match(filter) ?? this.retained.match(filter, this.now(), isLost)
  }

  gauges(): BrokerGauges {
    let [storedMessages, storedBytes] = [this.retained.count, this.retained.bytes]
    for (const { deliveryQueue } of this.#sessions.values()) {
      storedMessages += deliveryQueue.length
      storedBytes += deliveryQueue.bytes
    }
    return {
      connections: this.connectionCount,
      sessions: this.sessionCount,
      subscriptions: this.accounts.subscriptions.used,
      sharedSubscriptions: this.router.sharedCount,
      retained: this.retained.count,
      storedMessages,
      storedBytes,
    }
  }

  hasSubscribers(topic: string): boolean {
    return this.router.hasSubscribers(topic)
  }

  publishSys(message: Message): void {
    this.#runSafely(() => this.#deferredTasks.run(() => this.router.route(message, undefined)))
  }

  /**
   * Admits one connection per client id (MQTT 5.0, section 3.1.4), and resumes the client's session unless the client
   * requests a clean start.
   */
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
    if (resumed) {
      this.#offlineSessions.remove(resumed)
      this.wills.cancelDelayed(resumed)
      const earlier = resumed.owner
      resumed.owner = owner
      resumed.setAccount(account)
      if (!hasSameRights(owner, earlier)) {
        this.#revokeSubscriptions(resumed)
        discardForbidden(resumed)
      }
    }
    // The messages that were passed to others may have caused an eviction.
    const session = resumed === undefined || resumed.isEnded ? new Session(clientId, this) : resumed
    session.expirySeconds = Math.min(connect.sessionExpiry, LIMIT.sessionExpirySeconds)
    session.owner = owner
    session.setAccount(account)
    this.#sessions.set(clientId, session)
    this.#connections.set(session, connection)
    this.traffic.maxConnections = Math.max(this.traffic.maxConnections, this.connectionCount)
    this.#allConnections.add(connection)
    return { session, isSessionPresent: session === resumed }
  }

  detach(connection: Connection, session: Session, will: Will | undefined): void {
    session.suspend()
    this.#connections.delete(session)
    session.account?.connections.release()
    this.handler.onDisconnected(connection)
    if (will) this.wills.publishOrDelay(connection, session, will)
    if (session.isPersistent) this.#offlineSessions.add(session)
    else this.end(session)
  }

  /** Ends a session, removes its subscriptions, and publishes its pending will. */
  end(session: Session): void {
    if (session.isEnded) return
    for (const subscription of session.subscriptions.values()) {
      this.router.remove(subscription)
      releaseSubscription(session, subscription.filter, this)
    }
    if (this.#sessions.get(session.clientId) === session) this.#sessions.delete(session.clientId)
    // The will may overflow a client whose session is then kept, for which the limits would end this session again.
    session.end()
    this.wills.publishDelayed(session)
    this.#offlineSessions.remove(session)
  }

  defer(task: () => void): void {
    this.#deferredTasks.defer(task)
  }

  /** Discards expired messages until enough memory is free, within a bounded number of steps. */
  discardExpired(hasEnoughFree: () => boolean): boolean {
    for (let step = 0; this.retained.removeExpired(this.now()); step++) {
      if (hasEnoughFree()) return false
      if (step >= MAX_EXPIRY_STEPS) return true
    }
    for (const session of this.#sessions.values()) if (!hasEnoughFree()) session.discardExpired()
    return false
  }

  evictSession(session: Session): void {
    const connection = this.#connections.get(session)
    if (connection) connection.endWithSession()
    else this.end(session)
  }

  /**
   * Passes messages of a session to other members of shared subscriptions, after the current operation. Drops the
   * messages for which no memory is left, because they would end the session of the next member.
   */
  reassign(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0 || this.#closing) return
    this.#deferredTasks.defer(() => {
      for (const delivery of deliveries) if (this.budget.hasRoomFor(sizeOf(delivery))) delivery.reassign?.(delivery)
    })
  }

  /**
   * Ends all sessions and subscriptions that the policy no longer permits, including the sessions of offline clients.
   * Affected clients are disconnected and may reconnect.
   */
  revalidateSessions(): void {
    // First all subscriptions end. Otherwise, a message of a shared group could go to a client that must no longer
    // receive it. For the same reason, wills are deferred.
    const revoked = Array.from(this.#sessions.values(), session => ({
      session,
      hasRevoked: this.#revokeSubscriptions(session),
    }))
    this.#deferredTasks.run(() => {
      for (const { session, hasRevoked } of revoked) this.#applyRights(session, hasRevoked)
    })
  }

  revalidateSession(session: Session, owner: SessionOwner | undefined): void {
    const earlier = session.owner
    session.owner = owner
    if (hasSameRights(owner, earlier)) return
    this.#applyRights(session, this.#revokeSubscriptions(session))
  }

  /** Disconnects all clients. */
  close(): void {
    this.#closing = true
    this.wills.close()
    this.#sysTopics?.stop()
    const reason = 'the broker is shutting down'
    for (const each of [...this.connections]) each.disconnect(REASON.serverShuttingDown, reason)
    for (const session of Array.from(this.#sessions.values())) this.end(session)
  }

  kill(): void {
    this.#closing = true
    this.wills.close()
    this.#sysTopics?.stop()
    for (const connection of [...this.connections]) connection.cut()
    for (const session of Array.from(this.#sessions.values())) this.end(session)
  }

  /** Runs a task and reports its error, so that the remaining timers and deferred tasks still run. */
  #runSafely(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.handler.onError(error, '')
    }
  }

  /** Ends the subscriptions that are no longer permitted. Returns whether any subscription ended. */
  #revokeSubscriptions(session: Session): boolean {
    const { owner } = session
    if (owner === undefined) return false
    const { canConnect } = owner
    const filters = Array.from(session.subscriptions.keys())
    const revoked = filters.filter(filter => !canConnect || !owner.maySubscribe(sharedFilter(filter) ?? filter))
    for (const filter of revoked) this.#unsubscribe(session, filter)
    return revoked.length > 0
  }

  /** Discards the messages that a client may no longer receive, and disconnects the client if it lost a right. */
  #applyRights(session: Session, hasRevoked: boolean): void {
    const connection = this.#connections.get(session)
    if (session.owner?.canConnect === false) {
      session.expirySeconds = 0
      if (connection) connection.disconnect(REASON.notAuthorized, 'the policy no longer permits this client to connect')
      else this.end(session)
      return
    }
    discardForbidden(session)
    if (hasRevoked)
      connection?.disconnect(REASON.administrativeAction, 'the policy no longer permits a subscription of this client')
    else if (connection) this.#checkWatches(connection, session)
  }

  /** Disconnects a client with a watch that is no longer permitted. Checks in slices, because a client may have many. */
  #checkWatches(connection: Connection, session: Session): void {
    const search = this.handler.findForbiddenWatch?.(connection)
    if (search === undefined) return
    const check = {}
    session.watchCheck = check
    const checkSome = (deadlineMs: number): boolean => {
      while (session.watchCheck === check) {
        const { value: isForbidden, done } = search.next()
        if (done) session.watchCheck = undefined
        else if (isForbidden)
          connection.disconnect(REASON.administrativeAction, 'the policy no longer permits a watch of this client')
        if (this.now() >= deadlineMs) return session.watchCheck === check
      }
      return false
    }
    this.#runSliced(deadlineMs => {
      let hasMore = false
      this.#runSafely(() => {
        hasMore = checkSome(deadlineMs)
      })
      return hasMore
    })
  }

  #unsubscribe(session: Session, filter: string): void {
    const subscription = session.unsubscribe(filter)
    if (subscription === undefined) return
    this.router.remove(subscription)
    releaseSubscription(session, filter, this)
  }
}

const hasSameRights = (owner: SessionOwner | undefined, earlier: SessionOwner | undefined): boolean =>
  owner !== undefined && earlier !== undefined && owner.hasSameRights?.(earlier) === true

/** Discards the queued messages that a session's owner may no longer receive. */
function discardForbidden(session: Session): void {
  const { owner } = session
  if (owner) session.discard(({ topic }) => !owner.canReceive(topic))
}

export interface CoreOptions {
  /** The largest packet that a client may send, in bytes. */
  readonly maximumPacketSize: number
  /** The maximum keep-alive in s. 0 permits any keep-alive. */
  readonly maxKeepAliveSeconds: number
  /** The limit in bytes on the queued, retained and incomplete data of all clients. */
  readonly memoryBudget: number
  /** Default: no quotas. Retained messages are then limited by `LIMIT`. */
  readonly quotas?: BrokerQuotas | undefined
  readonly clock: Clock
  /**
   * Runs long work in slices. The work returns whether work remains at the deadline in ms of the monotonic clock.
   * Default: without pauses.
   */
  readonly runSliced?: ((work: (deadlineMs: number) => boolean) => void) | undefined
  /** Default: no `$SYS` topics. */
  readonly sysTopics?: SysTopicsOptions | undefined
}
