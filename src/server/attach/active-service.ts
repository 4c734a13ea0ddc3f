import { TAKEN_OVER } from '../../client/session/reasons.js'
import type { ConnectionInfo, InboundMessage, ServiceSession } from '../../client/session/session.js'
import { SubscribeRetry } from '../../client/session/subscribe-retry.js'
import { AWAY, INSTANCE_TOPIC, INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { displayText, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ConnectionLostError,
  ConnectionRefusedError,
  type RequestRejectedError,
  type StateStoreError,
} from '../../core/util/errors.js'
import { ReportLimiter } from '../../core/util/report-limiter.js'
import { Timer } from '../../core/util/timer.js'
import { settleWithin } from '../../core/util/wait.js'
import type { OpenedStorage } from '../storage/storage.js'
import { AttachedRequestHandler, type ChangedRights, type RequestHandlerEvents } from './attached-request-handler.js'
import { InboundQueue } from './inbound-queue.js'
import { InstanceAnnouncer, OwnInstanceIds } from './instance-announcer.js'
import type { DisconnectTopicFilter, Settings } from './options.js'
import { dropError, OutboundQueue } from './outbound-queue.js'
import { PresenceSweep } from './remote-clients.js'
import { RivalProbe } from './service-probe.js'

/** The events of an active service. No event follows `onEnded`. */
export interface ActiveServiceEvents extends RequestHandlerEvents {
  onServing(instanceId: string): void
  onReconnecting(cause: StateStoreError): void
  /** Called when the service has ended permanently. Without a cause, another store serves now. */
  onEnded(cause: StateStoreError | undefined): void
}

type ServiceState =
  /** The service is not connected, or not yet subscribed to requests. */
  | { readonly state: 'connecting' }
  /**
   * The service has reconnected. Another store may have taken over, and its retained announcement would arrive now.
   * `isContested`: that announcement has arrived, but the other store has not reclaimed the client id yet.
   */
  | { readonly state: 'confirming'; readonly connection: ConnectionInfo; readonly isContested: boolean }
  | { readonly state: 'serving'; readonly connection: ConnectionInfo }
  /** The service accepts no further requests, and answers the requests in flight. */
  | { readonly state: 'draining'; readonly connection: ConnectionInfo }
  | { readonly state: 'ended' }
  | { readonly state: 'closed' }

/** The time that a retained message may take to arrive after its subscription was granted. */
const RETAINED_TIMEOUT_MS = 300
/** The time to answer the requests in flight before closing. Without an answer, clients wait until their timeout. */
const DRAIN_TIMEOUT_MS = 5_000
/** The time to wait for the last announcement, and for the echo of the service's own announcement after its PUBACK. */
const STEP_TIMEOUT_MS = 1_000
/** The time that another store may take to reclaim its client id. See {@link ActiveService.shouldReclaimClientId}. */
const CONTEST_TIMEOUT_MS = 2_500
/** The interval of reports of dropped messages. Clients can cause any number of drops, and a report may become a log line. */
const DROP_REPORT_INTERVAL_MS = 1_000

/** One period as the active service, from the takeover until another service takes over. */
export class ActiveService {
  readonly handler: AttachedRequestHandler
  readonly #session: ServiceSession
  readonly #clock: Clock
  readonly #events: ActiveServiceEvents
  readonly #outbound: OutboundQueue
  readonly #inbound: InboundQueue
  readonly #requestSubscription: SubscribeRetry
  readonly #announcementSubscription: SubscribeRetry
  readonly #disconnectSubscription: SubscribeRetry
  readonly #disconnectEvents: DisconnectTopicFilter | undefined
  #state: ServiceState = { state: 'connecting' }
  /**
   * Whether this service has served before, so that a lost connection may have cost registrations and notifications.
   */
  #hasServed = false
  /** Whether the broker delivers the service's announcements back to it. */
  #hasReceivedOwnAnnouncement = false
  readonly #confirmation: Timer
  readonly #verification: Timer
  /** Ends the current step of closing. */
  #endWait: () => void = () => undefined
  #resolveClosed: () => void = () => undefined
  readonly #instanceIds = new OwnInstanceIds()
  readonly #announcer: InstanceAnnouncer
  readonly #rivalProbe: RivalProbe
  readonly #presenceSweep: PresenceSweep

  constructor(
    session: ServiceSession,
    opened: OpenedStorage,
    settings: Settings,
    clock: Clock,
    events: ActiveServiceEvents,
  ) {
    this.#session = session
    this.#clock = clock
    this.#confirmation = new Timer(clock)
    this.#verification = new Timer(clock)
    this.#events = events
    const reports = new ReportLimiter(clock, DROP_REPORT_INTERVAL_MS, 1)
    this.#outbound = new OutboundQueue(
      session,
      () => this.#inbound.resume(),
      drop => {
        const withheld = reports.admit('')
        if (withheld !== undefined) events.onFault(dropError(drop, withheld))
      },
    )
    this.handler = new AttachedRequestHandler(opened, settings, this.#outbound, events)
    this.#inbound = new InboundQueue(
      packetId => session.acknowledge(packetId),
      () => this.#isOpen && !this.#outbound.isBusy,
      (message, done) => this.handler.handle(message, done),
    )
    this.#requestSubscription = new SubscribeRetry(session, clock)
    this.#announcementSubscription = new SubscribeRetry(session, clock)
    this.#disconnectSubscription = new SubscribeRetry(session, clock)
    this.#disconnectEvents = settings.disconnectEvents
    this.#presenceSweep = new PresenceSweep(
      this.handler.clients,
      () => this.#isOpen && 2 * opened.engine.watchers.count > settings.watches.max,
      (message, done) => this.#outbound.push(message, done),
      clock,
    )
    this.#announcer = new InstanceAnnouncer(clock, () => this.#announce(() => undefined))
    this.#rivalProbe = new RivalProbe(
      session,
      clock,
      (message, done) => this.#outbound.push(message, done),
      instanceId => this.#instanceIds.has(instanceId),
      { onFound: () => this.#stepDown(), onAlone: () => this.#announcer.scheduleRepeat() },
    )
    this.handler.server.resume()
    session.open({
      connected: info => this.#onConnected(info),
      disconnected: cause => this.#onDisconnected(cause),
      failed: error => events.onFault(error),
      closed: cause => this.#onSessionClosed(cause),
      message: message => this.#onMessage(message),
    })
  }

  /**
   * Returns whether to reclaim a client id that another service took. Of two services that have read the retained
   * announcement, only one reclaims the id.
   */
  get shouldReclaimClientId(): boolean {
    const current = this.#state
    const mayServe = current.state === 'connecting' || current.state === 'serving'
    return this.#hasReceivedOwnAnnouncement && (mayServe || (current.state === 'confirming' && !current.isContested))
  }

  /**
   * Ends the watches that changed rights no longer permit. If there are any, a new instance id has all clients of this
   * package register again.
   */
  endWatches(rights: ChangedRights): void {
    if (!this.handler.endWatches(rights)) return
    this.handler.instanceId = this.#instanceIds.next()
    if (this.#state.state !== 'serving') return
    this.#announce(() => undefined)
    this.#events.onServing(this.handler.instanceId)
  }

  /** Answers the requests in flight, announces the departure, and disconnects. */
  async close(): Promise<void> {
    if (this.#state.state === 'serving') await this.#drain(this.#state.connection)
    this.#stop()
    if (this.#isClosed) return
    await new Promise<void>(resolve => {
      this.#resolveClosed = resolve
      this.#session.close()
    })
  }

  /**
   * Unsubscribes from requests, answers the requests already received, and announces the departure. The broker discards
   * undelivered requests together with the session, so none must remain in the session.
   */
  async #drain(connection: ConnectionInfo): Promise<void> {
    this.#state = { state: 'draining', connection }
    await this.#withTimeout(DRAIN_TIMEOUT_MS, done =>
      this.#session.unsubscribe([INVOKE_TOPIC], () => this.#inbound.whenIdle(done)),
    )
    if (!this.#isOpen) return
    this.#stop()
    await this.#withTimeout(STEP_TIMEOUT_MS, done => this.#publishInstance('', connection, done))
  }

  /** Resolves when `start` calls `done`, when the connection ends, or after `ms`. */
  #withTimeout(ms: number, start: (done: () => void) => void): Promise<void> {
    return settleWithin(ms, this.#clock, done => {
      this.#endWait = done
      start(done)
    })
  }

  #onConnected(connection: ConnectionInfo): void {
    if (this.#isEnded) return
    // Only a service that was disconnected can have been replaced.
    const mayBeReplaced = this.#hasServed && connection.canRetain
    this.#state = mayBeReplaced ? { state: 'confirming', connection, isContested: false } : { state: 'connecting' }
    this.#announcementSubscription.subscribe(undefined, [
      {
        filter: INSTANCE_TOPIC,
        granted: () => this.#awaitRetained(),
        refused: () => this.#confirmActive(),
      },
    ])
    if (!mayBeReplaced) this.#subscribeToRequests(connection)
  }

  #awaitRetained(): void {
    if (this.#state.state !== 'confirming' || this.#state.isContested) return
    this.#confirmation.set(RETAINED_TIMEOUT_MS, () => this.#confirmActive())
  }

  #confirmActive(): void {
    if (this.#state.state !== 'confirming') return
    const { connection } = this.#state
    this.#confirmation.cancel()
    this.#state = { state: 'connecting' }
    this.#subscribeToRequests(connection)
  }

  #subscribeToRequests(connection: ConnectionInfo): void {
    const isNew = !this.#hasServed || !connection.sessionPresent
    // Clients must register again if the session is new or notifications were lost.
    if (this.#outbound.takeNotificationLoss() || isNew) this.handler.instanceId = this.#instanceIds.next()
    this.#outbound.onConnected(connection)
    this.#requestSubscription.subscribe(undefined, [
      {
        filter: INVOKE_TOPIC,
        granted: () => this.#startServing(connection),
        refused: (error, isPermanent) => {
          if (isPermanent) this.#endWith(error)
          else this.#events.onReconnecting(error)
        },
      },
    ])
  }

  #startServing(connection: ConnectionInfo): void {
    if (this.#state.state !== 'connecting') return
    this.#state = { state: 'serving', connection }
    this.#hasServed = true
    this.#announce(() => {
      this.#verification.set(STEP_TIMEOUT_MS, () => this.#session.verifyConnection())
    })
    this.#subscribeToDisconnects()
    this.#presenceSweep.start()
    this.#events.onServing(this.handler.instanceId)
    this.#inbound.resume()
  }

  #subscribeToDisconnects(): void {
    if (this.#disconnectEvents === undefined) return
    const { filter } = this.#disconnectEvents
    const refused = (error: RequestRejectedError): void => this.#events.onFault(error)
    this.#disconnectSubscription.subscribe(undefined, [{ filter, granted: () => undefined, refused }])
  }

  #announce(done: () => void): void {
    const current = this.#state
    if (current.state === 'serving' || current.state === 'draining')
      this.#publishInstance(this.handler.instanceId, current.connection, done)
  }

  #publishInstance(instanceId: string, { canRetain: retain }: ConnectionInfo, done: () => void): void {
    if (!retain) done()
    else
      this.#outbound.push({ topic: INSTANCE_TOPIC, payload: utf8(instanceId), userProperties: {} }, done, {
        retain: true,
      })
  }

  #onDisconnected(cause: StateStoreError): void {
    const previous = this.#state
    const wasEnded = this.#isEnded
    this.#suspend(cause)
    if (wasEnded) return
    if (previous.state === 'confirming' && previous.isContested) this.#stepDown()
    else this.#events.onReconnecting(cause)
  }

  #suspend(cause?: StateStoreError): void {
    // The broker redelivers unanswered requests to the next service.
    if (this.#state.state === 'draining') this.#stop()
    else if (!this.#isEnded) this.#state = { state: 'connecting' }
    this.#endWait()
    this.#stopTimers()
    this.#requestSubscription.cancel()
    this.#announcementSubscription.cancel()
    this.#disconnectSubscription.cancel()
    // From here on, acknowledgements must not reach the next connection.
    this.#inbound.clear()
    this.#outbound.onDisconnected(cause instanceof ConnectionLostError ? cause.reasonCode : undefined)
  }

  #onMessage(message: InboundMessage): void {
    if (this.#isEnded) return
    if (this.#rivalProbe.handle(message)) {
      this.#inbound.skip(message)
      return
    }
    // The broker sends a retained request again after every subscription, when its client expects no response.
    if (message.retain === true && message.topic !== INSTANCE_TOPIC) {
      this.#inbound.skip(message)
      return
    }
    const disconnectedClient = this.#disconnectEvents?.clientOf(message.topic)
    if (message.topic !== INSTANCE_TOPIC && disconnectedClient === undefined) {
      this.#inbound.push(message)
      return
    }
    this.#inbound.skip(message)
    if (disconnectedClient !== undefined) this.handler.onClientDisconnected(disconnectedClient)
    else this.#onAnnouncement(displayText(message.payload), message.retain === true)
  }

  #onAnnouncement(instanceId: string, isRetained: boolean): void {
    if (instanceId === this.handler.instanceId) {
      this.#hasReceivedOwnAnnouncement = true
      this.#confirmActive()
    } else if (instanceId === '' || instanceId === AWAY) this.#announcer.scheduleRepeat()
    else if (this.#hasServed && !this.#instanceIds.has(instanceId)) this.#onRival(isRetained)
  }

  /** Handles the announcement of another store, which a client may have forged. */
  #onRival(isRetained: boolean): void {
    // A store with the same client id is confirmed when it reclaims the id.
    if (this.#state.state === 'confirming') this.#awaitContest(this.#state)
    // A message that is still retained comes from a service that has stopped.
    else if (this.#isOpen && !isRetained) this.#rivalProbe.start()
  }

  #awaitContest({ connection, isContested }: ServiceState & { state: 'confirming' }): void {
    if (isContested) return
    this.#state = { state: 'confirming', connection, isContested: true }
    this.#confirmation.set(CONTEST_TIMEOUT_MS, () => this.#confirmActive())
  }

  /** Stops without ending the session, because the requests queued in it belong to the other store. */
  #stepDown(): void {
    this.#stop()
    this.#session.close(true)
    this.#events.onEnded(undefined)
  }

  #endWith(error: RequestRejectedError): void {
    this.#stop()
    this.#session.close()
    this.#events.onEnded(error)
  }

  #onSessionClosed(cause: StateStoreError | undefined): void {
    const wasEnded = this.#isEnded
    this.#suspend()
    this.#stop()
    this.#state = { state: 'closed' }
    this.#resolveClosed()
    if (wasEnded) return
    const isReplaced = cause instanceof ConnectionRefusedError && cause.reasonCode === TAKEN_OVER
    this.#events.onEnded(isReplaced ? undefined : cause)
  }

  #stop(): void {
    if (this.#isEnded) return
    this.#state = { state: 'ended' }
    this.handler.server.stop()
    this.#stopTimers()
  }

  #stopTimers(): void {
    this.#confirmation.cancel()
    this.#verification.cancel()
    this.#announcer.stop()
    this.#rivalProbe.stop()
    this.#presenceSweep.stop()
  }

  get #isOpen(): boolean {
    return this.#state.state === 'serving' || this.#state.state === 'draining'
  }

  get #isEnded(): boolean {
    return this.#state.state === 'ended' || this.#isClosed
  }

  get #isClosed(): boolean {
    return this.#state.state === 'closed'
  }
}
