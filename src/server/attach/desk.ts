import type { Subject } from 'rxjs'
import type { Done, InboundMessage } from '../../client/session/session.js'
import type { Content, Incoming, Publish } from '../../core/mqtt5/publish.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { StateStoreService } from '../service/service.js'
import { type RequestReport, StateStoreServer } from '../service/state-store-server.js'
import { volatileRule } from '../storage/persistence.js'
import type { Opened } from '../storage/storage.js'
import { refusalOf, requestOf, Signature } from './asked.js'
import { type Guest, Guests } from './guests.js'
import { identityOf } from './identity.js'
import type { Settings } from './options.js'
import type { Handling, Outgoing } from './outgoing.js'

/** What a desk tells of. */
export interface DeskOutlets {
  readonly requests$: Subject<RequestReport>
  drifted(drift: number): void
  stored(failure: Parameters<StateStoreServer['settled']>[0]): void
  faulted(error: unknown): void
  /**
   * A request got no answer: its response topic is another client's, or none that a broker can be trusted to take.
   *
   * @param clientId - of the requester, as far as it is known
   */
  unanswered(clientId: string | undefined, responseTopic: string): void
}

/** A request as it came. */
interface Asked {
  readonly message: InboundMessage
  readonly guest: Guest
  /** How often its client had been heard by then. */
  readonly heard: number
  readonly done: () => void
}

/** Takes requests that came through a broker to the store, and answers and notifications to the broker. */
export class Desk {
  readonly server: StateStoreServer
  readonly engine: Opened['engine']
  /** Clients that asked for something. */
  readonly guests: Guests
  /** Since when requests may be taken, ms since the Unix epoch. */
  readonly startedAt: number
  readonly #settings: Settings
  readonly #outgoing: Outgoing
  readonly #outlets: DeskOutlets
  /** As they came, by what was made of them, with how to say that they are done. */
  readonly #asked = new Map<Incoming, Asked>()
  #signature = new Signature('')

  constructor(
    { engine, log, failure, clock: logClock }: Opened,
    settings: Settings,
    outgoing: Outgoing,
    outlets: DeskOutlets,
  ) {
    const { dialect, clock } = settings.keeping
    const service = new StateStoreService(engine, dialect, volatileRule(settings.keeping))
    this.#settings = settings
    this.#outgoing = outgoing
    this.#outlets = outlets
    this.engine = engine
    this.startedAt = clock.now()
    const notify = ({ clientId }: Guest, message: Publish, done: Done): void =>
      outgoing.push(message, done, { isNotification: true, receiver: clientId })
    this.guests = new Guests(engine.watchers, notify, clock)
    this.server = new StateStoreServer(engine, service, log, outlets.requests$, {
      dialect,
      clock: logClock ?? clock,
      notifications: 'registered',
      publish: () => undefined,
      answer: (_, message, content) => this.#answer(message, content),
      drifted: outlets.drifted,
      stored: outlets.stored,
      faulted: outlets.faulted,
    })
    if (failure !== undefined) this.server.settled(failure)
  }

  /** Of the store, named in every answer. */
  get life(): string {
    return this.#signature.life
  }

  set life(life: string) {
    this.#signature = new Signature(life)
  }

  /** Deals with a message; `done` is called when it may be acknowledged: its answer has been published. */
  take(message: InboundMessage, done: () => void): void {
    const { topic, correlationData, responseTopic } = message
    const identity = topic === INVOKE_TOPIC && correlationData ? identityOf(message, this.#vouched) : undefined
    if (identity === undefined || responseTopic === undefined) {
      done()
      return
    }
    if ('impostor' in identity) {
      this.#outlets.unanswered(identity.impostor, responseTopic)
      done()
      return
    }
    if ('unanswerable' in identity) {
      this.#outlets.unanswered(identity.unanswerable, responseTopic)
      done()
      return
    }
    if ('refused' in identity) {
      const { refused, property, value } = identity
      const answer = this.#signature.answerTo(message, responseTopic, refusalOf(refused, property, value))
      this.#outgoing.push(answer, done, handlingOf(message))
      return
    }
    const guest = this.guests.heard(identity.clientId)
    const request = requestOf(message)
    this.#asked.set(request, { message, guest, heard: guest.heard, done })
    this.server.take(guest, request)
  }

  /** The broker says that a client is gone. */
  gone(clientId: string): void {
    this.guests.gone(clientId)
  }

  get #vouched(): string | undefined {
    return this.#settings.identityProperty
  }

  #answer(request: Incoming, content: Content): void {
    const asked = this.#asked.get(request)
    this.#asked.delete(request)
    const topic = asked?.message.responseTopic
    if (asked === undefined || topic === undefined) return
    const { message, guest, heard, done } = asked
    const acknowledged: Done = refusal => {
      this.guests.answered(guest, heard, topic, refusal)
      done()
    }
    this.#outgoing.push(this.#signature.answerTo(message, topic, content), acknowledged, {
      ...handlingOf(message),
      receiver: guest.clientId,
    })
  }
}

/** What is not acknowledged comes again; of QoS 0 nothing is. */
const handlingOf = ({ qos = 0 }: InboundMessage): Handling => ({ isRepeatable: qos > 0 })
