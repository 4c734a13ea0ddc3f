import { Granting } from '../../client/session/granting.js'
import { TAKEN_OVER } from '../../client/session/reason-words.js'
import type { ConnectionInfo, InboundMessage, ServiceSession } from '../../client/session/session.js'
import { AWAY, INVOKE_TOPIC, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { displayText, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import {
  ConnectionLostError,
  ConnectionRefusedError,
  type RequestRejectedError,
  type StateStoreError,
} from '../../core/util/errors.js'
import type { Opened } from '../storage/storage.js'
import type { Departures } from './departures.js'
import { Desk, type DeskOutlets } from './desk.js'
import { DropReporter } from './drop-reporter.js'
import { Inward } from './inward.js'
import { LifeAnnouncer } from './life-announcer.js'
import type { Settings } from './options.js'
import { Outgoing } from './outgoing.js'
import { OwnLives } from './own-lives.js'
import { PresenceSweep } from './presence-sweep.js'
import { RivalProbe } from './rival-probe.js'

/** What it tells. After `ended` it is silent. */
export interface ReignEvents extends DeskOutlets {
  serving(life: string): void
  reconnecting(cause: StateStoreError): void
  /** For good; without a cause another store serves now. */
  ended(cause: StateStoreError | undefined): void
}

/** How long what is retained may take after its subscription was granted, ms. */
const RETAINED_AFTER = 300
/** How long the last answers may take, the farewell, and our own announcement to come back after its PUBACK, ms. */
const PATIENCE = 1_000
/** How long another store may take to come back for its client id, ms; see {@link Reign.contests}. */
const CONTEST_TIMEOUT_MS = 2_500

/** A store serves at a broker, from the moment at which nobody else did to the moment at which somebody else does. */
export class Reign {
  readonly desk: Desk
  readonly #session: ServiceSession
  readonly #clock: Clock
  readonly #events: ReignEvents
  readonly #outgoing: Outgoing
  readonly #inward: Inward
  readonly #invoking: Granting
  readonly #announcements: Granting
  readonly #departing: Granting
  readonly #departures: Departures | undefined
  /** Whether requests are taken. */
  #isOpen = false
  #hasServed = false
  #ended = false
  #isLeaving = false
  /** Whether another store's life was retained when this one came back, and that one has not come for its client id yet. */
  #isContested = false
  /** What is done when it is clear that nobody else serves. */
  #confirm: (() => void) | undefined
  #cancel: () => void = () => undefined
  #stopListening: () => void = () => undefined
  #isClosed = false
  #whenClosed: () => void = () => undefined
  #retains = false
  #hearsItself = false
  readonly #lives = new OwnLives()
  readonly #announcer: LifeAnnouncer
  readonly #rivals: RivalProbe
  readonly #sweep: PresenceSweep

  constructor(session: ServiceSession, opened: Opened, settings: Settings, clock: Clock, events: ReignEvents) {
    this.#session = session
    this.#clock = clock
    this.#events = events
    const drops = new DropReporter(clock, error => events.faulted(error))
    this.#outgoing = new Outgoing(
      session,
      () => this.#inward.resume(),
      drop => drops.dropped(drop),
    )
    this.desk = new Desk(opened, settings, this.#outgoing, events)
    this.#inward = new Inward(
      packetId => session.acknowledge(packetId),
      () => this.#isOpen && !this.#outgoing.isBusy,
      (message, done) => this.desk.take(message, done),
    )
    this.#invoking = new Granting(session, clock)
    this.#announcements = new Granting(session, clock)
    this.#departing = new Granting(session, clock)
    this.#departures = settings.departures
    this.#sweep = new PresenceSweep(
      this.desk.guests,
      () => this.#isOpen && 2 * opened.engine.watchers.count > settings.watches.most,
      (message, done) => this.#outgoing.push(message, done),
      clock,
    )
    this.#announcer = new LifeAnnouncer(clock, () => this.#announce())
    this.#rivals = new RivalProbe(
      session,
      clock,
      (message, done) => this.#outgoing.push(message, done),
      life => this.#lives.has(life),
      { found: () => this.#stepDown(), alone: () => this.#announcer.repeat() },
    )
    this.desk.server.resume()
    session.open({
      connected: info => this.#connected(info),
      disconnected: cause => this.#disconnected(cause),
      closed: cause => this.#closed(cause),
      message: message => this.#received(message),
    })
  }

  /** Whether to come back to a client id that was taken: of two that read the life that is retained, one steps back. */
  get contests(): boolean {
    return this.#hearsItself && !this.#isLeaving && !this.#ended && !this.#isContested
  }

  /** Answers what was asked, says that it goes, and goes. */
  async end(): Promise<void> {
    this.#isLeaving = true
    if (this.#isOpen) await this.#inTime(done => this.#finish(done))
    const isHere = this.#isOpen
    this.#stop()
    if (isHere) await this.#inTime(done => this.#publishLife('', done))
    if (this.#isClosed) return
    await new Promise<void>(resolve => {
      this.#whenClosed = resolve
      this.#session.close()
    })
  }

  /** Settles when something is done, or takes too long. */
  #inTime(begin: (done: () => void) => void): Promise<void> {
    return new Promise(resolve => {
      const late = this.#clock.schedule(PATIENCE, resolve)
      begin(() => {
        late()
        resolve()
      })
    })
  }

  /** With its session the broker forgets what it has not delivered: nothing may be left in it. */
  #finish(done: () => void): void {
    this.#session.unsubscribe([INVOKE_TOPIC], () => this.#inward.whenIdle(done))
  }

  #connected(info: ConnectionInfo): void {
    if (this.#ended || this.#isLeaving) return
    const serve = (): void => this.#serve(info)
    // Only who was away can have been replaced meanwhile.
    if (this.#hasServed && info.retain) this.#confirm = serve
    const confirmed = (): void => this.#confirmed()
    const wait = (): void => {
      if (!this.#isContested) this.#cancel = this.#clock.schedule(RETAINED_AFTER, confirmed)
    }
    this.#announcements.ask(undefined, [{ filter: LIFE_TOPIC, granted: wait, refused: confirmed }])
    if (this.#confirm === undefined) serve()
  }

  #confirmed(): void {
    this.#cancel()
    this.#isContested = false
    const confirm = this.#confirm
    this.#confirm = undefined
    confirm?.()
  }

  #serve(info: ConnectionInfo): void {
    const isNew = !this.#hasServed || !info.sessionPresent
    // Registrations of before are not known then, or not all of their notifications.
    if (this.#outgoing.takeLost() || isNew) this.desk.life = this.#lives.next()
    this.#outgoing.connected(info)
    this.#invoking.ask(undefined, [
      {
        filter: INVOKE_TOPIC,
        granted: () => this.#begin(info),
        refused: (error, forGood) => {
          if (forGood) this.#giveUp(error)
          else this.#events.reconnecting(error)
        },
      },
    ])
  }

  #begin({ retain }: ConnectionInfo): void {
    if (this.#ended) return
    this.#hasServed = true
    this.#isOpen = true
    this.#retains = retain
    this.#announce(() => {
      this.#stopListening = this.#clock.schedule(PATIENCE, () => this.#session.doubt())
    })
    this.#askForDepartures()
    this.#sweep.start()
    this.#events.serving(this.desk.life)
    this.#inward.resume()
  }

  #askForDepartures(): void {
    if (this.#departures === undefined) return
    const { filter } = this.#departures
    const refused = (error: RequestRejectedError): void => this.#events.faulted(error)
    this.#departing.ask(undefined, [{ filter, granted: () => undefined, refused }])
  }

  /** @param done - told of the PUBACK */
  #announce(done = (): void => undefined): void {
    if (this.#isOpen) this.#publishLife(this.desk.life, done)
  }

  #publishLife(life: string, done: () => void): void {
    if (!this.#retains) done()
    else this.#outgoing.push({ topic: LIFE_TOPIC, payload: utf8(life), userProperties: {} }, done, { retain: true })
  }

  #disconnected(cause: StateStoreError): void {
    const isReplaced = this.#isContested
    this.#pause(cause)
    if (this.#ended) return
    if (isReplaced) this.#stepDown()
    else this.#events.reconnecting(cause)
  }

  #pause(cause?: StateStoreError): void {
    this.#isOpen = false
    this.#cancel()
    this.#stopListening()
    this.#announcer.stop()
    this.#rivals.stop()
    this.#sweep.stop()
    this.#confirm = undefined
    this.#isContested = false
    this.#invoking.cancel()
    this.#announcements.cancel()
    this.#departing.cancel()
    // What is acknowledged from here on is not for the next connection.
    this.#inward.clear()
    this.#outgoing.disconnected(cause instanceof ConnectionLostError ? cause.reasonCode : undefined)
  }

  #received(message: InboundMessage): void {
    if (this.#ended) return
    if (this.#rivals.take(message)) {
      this.#inward.skip(message)
      return
    }
    const gone = this.#departures?.clientOf(message.topic)
    if (message.topic !== LIFE_TOPIC && gone === undefined) {
      this.#inward.take(message)
      return
    }
    this.#inward.skip(message)
    if (gone !== undefined) this.desk.gone(gone)
    else this.#heard(displayText(message.payload), message.retain === true)
  }

  /** What is retained when nobody asks for it any more is of a store that is gone. */
  #heard(life: string, isRetained: boolean): void {
    const isOwn = life === this.desk.life
    this.#hearsItself ||= isOwn
    if (isOwn) this.#confirmed()
    else if (life === '' || life === AWAY) this.#announcer.repeat()
    else if (this.#hasServed && !this.#lives.has(life)) this.#doubt(isRetained)
  }

  /** Another store serves, or somebody says so who is none. */
  #doubt(isRetained: boolean): void {
    // With our client id it serves again as soon as it has that back.
    if (this.#confirm !== undefined) this.#awaitContest()
    else if (this.#isOpen && !isRetained) this.#rivals.look()
  }

  #awaitContest(): void {
    if (this.#isContested) return
    this.#isContested = true
    this.#cancel()
    this.#cancel = this.#clock.schedule(CONTEST_TIMEOUT_MS, () => this.#confirmed())
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
    this.#isClosed = true
    this.#whenClosed()
    this.#pause()
    if (this.#ended) return
    this.#stop()
    const isReplaced = cause instanceof ConnectionRefusedError && cause.reasonCode === TAKEN_OVER
    this.#events.ended(isReplaced ? undefined : cause)
  }

  #stop(): void {
    this.#ended = true
    this.desk.server.stop()
    this.#isOpen = false
    this.#stopListening()
    this.#announcer.stop()
    this.#rivals.stop()
    this.#sweep.stop()
  }
}
