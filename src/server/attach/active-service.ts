import { TAKEN_OVER } from '../../client/session/reasons.js'
import type { ConnectionInfo, InboundMessage, ServiceSession } from '../../client/session/session.js'
import { SubscribeRetry } from '../../client/session/subscribe-retry.js'
import { AWAY, INVOKE_TOPIC, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { displayText, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ConnectionLostError,
  ConnectionRefusedError,
  type RequestRejectedError,
  type StateStoreError,
} from '../../core/util/errors.js'
import type { OpenedStorage } from '../storage/storage.js'
import { AttachedRequestHandler, type RequestHandlerEvents } from './attached-request-handler.js'
import { InboundQueue } from './inbound-queue.js'
import { InstanceAnnouncer, OwnInstanceIds } from './instance-announcer.js'
import type { DisconnectTopicFilter, Settings } from './options.js'
import { DropReporter, OutboundQueue } from './outbound-queue.js'
import { PresenceSweep } from './remote-clients.js'
import { RivalProbe } from './service-probe.js'

/** Called by an {@link ActiveService}; nothing follows `ended`. */
export interface ActiveServiceEvents extends RequestHandlerEvents {
  serving(life: string): void
  reconnecting(cause: StateStoreError): void
  /** For good; without a cause another store serves now. */
  ended(cause: StateStoreError | undefined): void
}

/** Where an {@link ActiveService} stands. */
type ServiceState =
  /** Not connected, or not subscribed to requests yet. */
  | { readonly state: 'connecting' }
  /**
   * Connected again: another store may have taken over since, whose life is retained then. With `isContested` one is, and it
   * has not come for its client id yet.
   */
  | { readonly state: 'confirming'; readonly connection: ConnectionInfo; readonly isContested: boolean }
  | { readonly state: 'serving'; readonly connection: ConnectionInfo }
  /** It takes no more requests, and answers those that came. */
  | { readonly state: 'draining'; readonly connection: ConnectionInfo }
  /** For good; the session is being closed. */
  | { readonly state: 'ended' }
  | { readonly state: 'closed' }

/** How long a retained message may take after its subscription was granted, ms. */
const RETAINED_TIMEOUT_MS = 300
/** How long the last answers may take, the last announcement, and our own one to come back after its PUBACK, ms. */
const TIMEOUT_MS = 1_000
/** How long another store may take to come back for its client id, ms; see {@link ActiveService.contests}. */
const CONTEST_TIMEOUT_MS = 2_500

/** One period as the active service, from takeover until another service takes over. */
export class ActiveService {
  readonly handler: AttachedRequestHandler
  readonly #session: ServiceSession
  readonly #clock: Clock
  readonly #events: ActiveServiceEvents
  readonly #outbound: OutboundQueue
  readonly #inbound: InboundQueue
  readonly #requests: SubscribeRetry
  readonly #announcements: SubscribeRetry
  readonly #disconnects: SubscribeRetry
  readonly #disconnectEvents: DisconnectTopicFilter | undefined
  #state: ServiceState = { state: 'connecting' }
  /** Whether it served before; then registrations and notifications may have been lost with a connection. */
  #hasServed = false
  /** Whether the broker delivers our announcements to us. */
  #hasHeardItself = false
  #cancelConfirmation: () => void = () => undefined
  #cancelVerification: () => void = () => undefined
  #onClosed: () => void = () => undefined
  readonly #lives = new OwnInstanceIds()
  readonly #announcer: InstanceAnnouncer
  readonly #rivals: RivalProbe
  readonly #sweep: PresenceSweep

  constructor(
    session: ServiceSession,
    opened: OpenedStorage,
    settings: Settings,
    clock: Clock,
    events: ActiveServiceEvents,
  ) {
    this.#session = session
    this.#clock = clock
    this.#events = events
    const drops = new DropReporter(clock, error => events.faulted(error))
    this.#outbound = new OutboundQueue(
      session,
      () => this.#inbound.resume(),
      drop => drops.dropped(drop),
    )
    this.handler = new AttachedRequestHandler(opened, settings, this.#outbound, events)
    this.#inbound = new InboundQueue(
      packetId => session.acknowledge(packetId),
      () => this.#isOpen && !this.#outbound.isBusy,
      (message, done) => this.handler.take(message, done),
    )
    this.#requests = new SubscribeRetry(session, clock)
    this.#announcements = new SubscribeRetry(session, clock)
    this.#disconnects = new SubscribeRetry(session, clock)
    this.#disconnectEvents = settings.disconnectEvents
    this.#sweep = new PresenceSweep(
      this.handler.clients,
      () => this.#isOpen && 2 * opened.engine.watchers.count > settings.watches.max,
      (message, done) => this.#outbound.push(message, done),
      clock,
    )
    this.#announcer = new InstanceAnnouncer(clock, () => this.#announce(() => undefined))
    this.#rivals = new RivalProbe(
      session,
      clock,
      (message, done) => this.#outbound.push(message, done),
      life => this.#lives.has(life),
      { found: () => this.#stepDown(), alone: () => this.#announcer.repeat() },
    )
    this.handler.server.resume()
    session.open({
      connected: info => this.#connected(info),
      disconnected: cause => this.#disconnected(cause),
      closed: cause => this.#closed(cause),
      message: message => this.#received(message),
    })
  }

  /** Whether to come back to a client id that was taken: of two that read the life that is retained, one steps back. */
  get contests(): boolean {
    const now = this.#state
    const mayServe = now.state === 'connecting' || now.state === 'serving'
    return this.#hasHeardItself && (mayServe || (now.state === 'confirming' && !now.isContested))
  }

  /** Answers what was asked, announces that it leaves, and leaves. */
  async end(): Promise<void> {
    if (this.#state.state === 'serving') await this.#drain(this.#state.connection)
    this.#stop()
    if (this.#isClosed) return
    await new Promise<void>(resolve => {
      this.#onClosed = resolve
      this.#session.close()
    })
  }

  /** With its session the broker forgets what it has not delivered: nothing may be left in it. */
  async #drain(connection: ConnectionInfo): Promise<void> {
    this.#state = { state: 'draining', connection }
    await this.#inTime(done => this.#session.unsubscribe([INVOKE_TOPIC], () => this.#inbound.whenIdle(done)))
    if (!this.#isOpen) return
    this.#stop()
    await this.#inTime(done => this.#publishLife('', connection, done))
  }

  /** Settles when something is done, or takes too long. */
  #inTime(begin: (done: () => void) => void): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.schedule(TIMEOUT_MS, resolve)
      begin(() => {
        cancel()
        resolve()
      })
    })
  }

  #connected(connection: ConnectionInfo): void {
    if (this.#isEnded) return
    // Only a service that was away can have been replaced.
    const mayBeReplaced = this.#hasServed && connection.canRetain
    this.#state = mayBeReplaced ? { state: 'confirming', connection, isContested: false } : { state: 'connecting' }
    this.#announcements.subscribe(undefined, [
      {
        filter: LIFE_TOPIC,
        granted: () => this.#awaitRetained(),
        refused: () => this.#confirm(),
      },
    ])
    if (!mayBeReplaced) this.#serve(connection)
  }

  #awaitRetained(): void {
    if (this.#state.state !== 'confirming' || this.#state.isContested) return
    this.#cancelConfirmation = this.#clock.schedule(RETAINED_TIMEOUT_MS, () => this.#confirm())
  }

  /** No other store has taken over. */
  #confirm(): void {
    if (this.#state.state !== 'confirming') return
    const { connection } = this.#state
    this.#cancelConfirmation()
    this.#state = { state: 'connecting' }
    this.#serve(connection)
  }

  #serve(connection: ConnectionInfo): void {
    const isNew = !this.#hasServed || !connection.sessionPresent
    // Registrations of before are not known then, or not all of their notifications.
    if (this.#outbound.takeLost() || isNew) this.handler.life = this.#lives.next()
    this.#outbound.connected(connection)
    this.#requests.subscribe(undefined, [
      {
        filter: INVOKE_TOPIC,
        granted: () => this.#begin(connection),
        refused: (error, forGood) => {
          if (forGood) this.#giveUp(error)
          else this.#events.reconnecting(error)
        },
      },
    ])
  }

  #begin(connection: ConnectionInfo): void {
    if (this.#state.state !== 'connecting') return
    this.#state = { state: 'serving', connection }
    this.#hasServed = true
    this.#announce(() => {
      this.#cancelVerification = this.#clock.schedule(TIMEOUT_MS, () => this.#session.verifyConnection())
    })
    this.#subscribeToDisconnects()
    this.#sweep.start()
    this.#events.serving(this.handler.life)
    this.#inbound.resume()
  }

  #subscribeToDisconnects(): void {
    if (this.#disconnectEvents === undefined) return
    const { filter } = this.#disconnectEvents
    const refused = (error: RequestRejectedError): void => this.#events.faulted(error)
    this.#disconnects.subscribe(undefined, [{ filter, granted: () => undefined, refused }])
  }

  /** @param done - called on the PUBACK */
  #announce(done: () => void): void {
    const now = this.#state
    if (now.state === 'serving' || now.state === 'draining') this.#publishLife(this.handler.life, now.connection, done)
  }

  #publishLife(life: string, { canRetain: retain }: ConnectionInfo, done: () => void): void {
    if (!retain) done()
    else this.#outbound.push({ topic: LIFE_TOPIC, payload: utf8(life), userProperties: {} }, done, { retain: true })
  }

  #disconnected(cause: StateStoreError): void {
    const before = this.#state
    const wasEnded = this.#isEnded
    this.#pause(cause)
    if (wasEnded) return
    if (before.state === 'confirming' && before.isContested) this.#stepDown()
    else this.#events.reconnecting(cause)
  }

  #pause(cause?: StateStoreError): void {
    // What was not answered while it drained comes again, to the next service.
    if (this.#state.state === 'draining') this.#stop()
    else if (!this.#isEnded) this.#state = { state: 'connecting' }
    this.#stopTimers()
    this.#requests.cancel()
    this.#announcements.cancel()
    this.#disconnects.cancel()
    // What is acknowledged from here on is not for the next connection.
    this.#inbound.clear()
    this.#outbound.disconnected(cause instanceof ConnectionLostError ? cause.reasonCode : undefined)
  }

  #received(message: InboundMessage): void {
    if (this.#isEnded) return
    if (this.#rivals.take(message)) {
      this.#inbound.skip(message)
      return
    }
    const leftClient = this.#disconnectEvents?.clientOf(message.topic)
    if (message.topic !== LIFE_TOPIC && leftClient === undefined) {
      this.#inbound.take(message)
      return
    }
    this.#inbound.skip(message)
    if (leftClient !== undefined) this.handler.gone(leftClient)
    else this.#onAnnouncement(displayText(message.payload), message.retain === true)
  }

  /** What is retained when nobody asks for it any more is of a store that is gone. */
  #onAnnouncement(life: string, isRetained: boolean): void {
    if (life === this.handler.life) {
      this.#hasHeardItself = true
      this.#confirm()
    } else if (life === '' || life === AWAY) this.#announcer.repeat()
    else if (this.#hasServed && !this.#lives.has(life)) this.#onRival(isRetained)
  }

  /** Another store serves, or a client that is none announces one. */
  #onRival(isRetained: boolean): void {
    // With our client id it serves again as soon as it has that back.
    if (this.#state.state === 'confirming') this.#awaitContest(this.#state)
    else if (this.#isOpen && !isRetained) this.#rivals.look()
  }

  #awaitContest({ connection, isContested }: ServiceState & { state: 'confirming' }): void {
    if (isContested) return
    this.#state = { state: 'confirming', connection, isContested: true }
    this.#cancelConfirmation()
    this.#cancelConfirmation = this.#clock.schedule(CONTEST_TIMEOUT_MS, () => this.#confirm())
  }

  /** What waits in the session is for the other store. */
  #stepDown(): void {
    this.#stop()
    this.#session.close(true)
    this.#events.ended(undefined)
  }

  #giveUp(error: RequestRejectedError): void {
    this.#stop()
    this.#session.close()
    this.#events.ended(error)
  }

  #closed(cause: StateStoreError | undefined): void {
    const wasEnded = this.#isEnded
    this.#pause()
    this.#stop()
    this.#state = { state: 'closed' }
    this.#onClosed()
    if (wasEnded) return
    const isReplaced = cause instanceof ConnectionRefusedError && cause.reasonCode === TAKEN_OVER
    this.#events.ended(isReplaced ? undefined : cause)
  }

  #stop(): void {
    if (this.#isEnded) return
    this.#state = { state: 'ended' }
    this.handler.server.stop()
    this.#stopTimers()
  }

  #stopTimers(): void {
    this.#cancelConfirmation()
    this.#cancelVerification()
    this.#announcer.stop()
    this.#rivals.stop()
    this.#sweep.stop()
  }

  /** Whether requests are dealt with. */
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
