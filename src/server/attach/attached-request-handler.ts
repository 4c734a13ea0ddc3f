import type { Subject } from 'rxjs'
import type { Done, InboundMessage } from '../../client/session/session.js'
import type { Content, Incoming, PropertiesByName, Publish } from '../../core/mqtt5/packets.js'
import { NO_USER_PROPERTIES } from '../../core/mqtt5/properties.js'
import { isPublishable } from '../../core/mqtt5/topic.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { concatBytes, putAscii, toHex, utf8 } from '../../core/util/bytes.js'
import { type RequestReport, StoreService } from '../service/store-service.js'
import { isTopicName, responseTopicRejection } from '../service/topic-rules.js'
import type { OpenedStorage } from '../storage/storage.js'
import { volatileRule } from '../storage/storage-options.js'
import type { Settings } from './options.js'
import type { Handling, OutboundQueue } from './outbound-queue.js'
import { type RemoteClient, RemoteClients } from './remote-clients.js'

/** Called by an {@link AttachedRequestHandler}. */
export interface RequestHandlerEvents {
  readonly requests$: Subject<RequestReport>
  drifted(drift: number): void
  stored(failure: Parameters<StoreService['report']>[0]): void
  faulted(error: unknown): void
  /**
   * A request got no answer: its response topic is another client's, or none that a broker can be trusted to take.
   *
   * @param clientId - of the requester, as far as it is known
   */
  unanswered(clientId: string | undefined, responseTopic: string): void
}

/** A request as it came. */
interface PendingRequest {
  readonly message: InboundMessage
  readonly client: RemoteClient
  /** How often its client had been heard by then. */
  readonly heard: number
  readonly done: () => void
}

/** Takes requests that came through a broker to the store, and answers and notifications to the broker. */
export class AttachedRequestHandler {
  readonly server: StoreService
  readonly engine: OpenedStorage['engine']
  /** Clients that asked for something. */
  readonly clients: RemoteClients
  /** Since when requests may be taken, ms since the Unix epoch. */
  readonly startedAt: number
  readonly #settings: Settings
  readonly #outbound: OutboundQueue
  readonly #events: RequestHandlerEvents
  /** As they came, by what was made of them, with how to say that they are done. */
  readonly #pending = new Map<Incoming, PendingRequest>()
  #template = new ResponseTemplate('')

  constructor(
    { engine, log, failure, clock: logClock }: OpenedStorage,
    settings: Settings,
    outbound: OutboundQueue,
    events: RequestHandlerEvents,
  ) {
    const { dialect, clock } = settings.keeping
    this.#settings = settings
    this.#outbound = outbound
    this.#events = events
    this.engine = engine
    this.startedAt = clock.now()
    const notify = ({ clientId }: RemoteClient, message: Publish, done: Done): void =>
      outbound.push(message, done, { isNotification: true, receiver: clientId })
    this.clients = new RemoteClients(engine.watchers, notify, clock)
    this.server = new StoreService({
      engine,
      log,
      requests$: events.requests$,
      dialect,
      isVolatile: volatileRule(settings.keeping),
      clock: logClock ?? clock,
      notifications: 'registered',
      publish: () => undefined,
      sendResponse: (_, message, content) => this.#answer(message, content),
      onDrift: events.drifted,
      onLogHealth: events.stored,
      onError: events.faulted,
    })
    if (failure !== undefined) this.server.report(failure)
  }

  /** Of the store, named in every answer. */
  get life(): string {
    return this.#template.life
  }

  set life(life: string) {
    this.#template = new ResponseTemplate(life)
  }

  /** Deals with a message; `done` is called when it may be acknowledged: its answer has been published. */
  take(message: InboundMessage, done: () => void): void {
    const { topic, correlationData, responseTopic } = message
    const identity = topic === INVOKE_TOPIC && correlationData ? identifyRequester(message, this.#vouched) : undefined
    if (identity === undefined || responseTopic === undefined) {
      done()
      return
    }
    if ('impostor' in identity) {
      this.#events.unanswered(identity.impostor, responseTopic)
      done()
      return
    }
    if ('unanswerable' in identity) {
      this.#events.unanswered(identity.unanswerable, responseTopic)
      done()
      return
    }
    if ('refused' in identity) {
      const { refused, property, value } = identity
      const answer = this.#template.answerTo(message, responseTopic, refusalOf(refused, property, value))
      this.#outbound.push(answer, done, handlingOf(message))
      return
    }
    const client = this.clients.heard(identity.clientId)
    const request = requestOf(message)
    this.#pending.set(request, { message, client, heard: client.heard, done })
    this.server.handleRequest(client, request)
  }

  /** The broker says that a client is gone. */
  gone(clientId: string): void {
    this.clients.gone(clientId)
  }

  get #vouched(): string | undefined {
    return this.#settings.identityProperty
  }

  #answer(request: Incoming, content: Content): void {
    const pending = this.#pending.get(request)
    this.#pending.delete(request)
    const topic = pending?.message.responseTopic
    if (pending === undefined || topic === undefined) return
    const { message, client, heard, done } = pending
    const acknowledged: Done = refusal => {
      this.clients.answered(client, heard, topic, refusal)
      done()
    }
    this.#outbound.push(this.#template.answerTo(message, topic, content), acknowledged, {
      ...handlingOf(message),
      receiver: client.clientId,
    })
  }
}

/** What is not acknowledged comes again; of QoS 0 nothing is. */
const handlingOf = ({ qos = 0 }: InboundMessage): Handling => ({ isRepeatable: qos > 0 })

const NOTHING = new Uint8Array(0)

/**
 * A request as the store is to take it. Brokers do not pass on that a client repeats a PUBLISH (MQTT 5.0, section 3.3.1.1), so
 * any may be a repetition: it is known by its correlation data together with its timestamp, which only a repetition has in
 * common with the request before. Without a timestamp the broker's own word is all there is.
 *
 * How long a client waits is left out, as what was answered would be forgotten then: a broker that had begun to deliver a
 * message repeats it after any cut, long after its expiry (MQTT 5.0, section 3.3.2.3.3).
 */
function requestOf(request: InboundMessage): Incoming {
  const { topic, payload, contentType, responseTopic, correlationData = NOTHING, userProperties } = request
  const timestamp = userProperties[PROPERTY.timestamp]
  const isMarked = typeof timestamp === 'string'
  const place = isMarked ? marked(correlationData, timestamp) : new Uint8Array(correlationData)
  const { qos = 0, dup = false } = request
  // One by one: there is one for every request, and a spread object takes many times as long.
  return {
    topic,
    payload,
    contentType,
    responseTopic,
    correlationData: place,
    userProperties,
    qos,
    dup: dup || isMarked,
  }
}

/** Bytes, and a text behind them. */
function marked(bytes: Uint8Array, text: string): Uint8Array {
  const place = new Uint8Array(bytes.length + text.length)
  if (putAscii(place, bytes.length, text) === undefined) return concatBytes([bytes, utf8(text)])
  place.set(bytes)
  return place
}

/** What all answers of a life of the store have in common. */
class ResponseTemplate {
  readonly life: string
  /** By the properties that answers of a kind have in common: one object for all of them, so that it is encoded once. */
  readonly #signed = new WeakMap<PropertiesByName, PropertiesByName>()

  constructor(life: string) {
    this.life = life
  }

  /** The answer for the client: it belongs to the request as it came, lives no longer, and names the life of the store. */
  answerTo({ correlationData, messageExpiry }: InboundMessage, topic: string, content: Content): Publish {
    const { payload, contentType, userProperties, commonProperties = NO_USER_PROPERTIES } = content
    return {
      topic,
      payload,
      contentType,
      // With a view, all that was read with the request would be kept.
      correlationData: correlationData && new Uint8Array(correlationData),
      messageExpiry,
      userProperties,
      commonProperties: this.#sign(commonProperties),
    }
  }

  #sign(properties: PropertiesByName): PropertiesByName {
    const known = this.#signed.get(properties)
    if (known !== undefined) return known
    const signed = { ...properties, [PROPERTY.life]: this.life }
    this.#signed.set(properties, signed)
    return signed
  }
}

/** The answer to a request of which it is not known who sent it. */
const refusalOf = (words: string, property: string, value: string): Content => ({
  payload: NOTHING,
  contentType: CONTENT_TYPE,
  userProperties: {
    [PROPERTY.status]: String(STATUS.badRequest),
    [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
    [PROPERTY.sourceId]: 'StateStore',
    [PROPERTY.statusMessage]: words,
    [PROPERTY.invalidProperty]: property,
    [PROPERTY.invalidValue]: value.slice(0, 80),
    [PROPERTY.highPriority]: '',
  },
})

/** Who asks, or why that cannot be known; then with the property that is wrong. */
export type RequesterIdentity =
  | { readonly clientId: string }
  | { readonly refused: string; readonly property: string; readonly value: string }
  /** The response topic is one over which some brokers end the connection of the client that publishes there. */
  | { readonly unanswerable: string }
  /** The answer would go to somebody else, or might, as far as it is known who asks: nobody gets one. */
  | { readonly impostor: string | undefined }

/** Those of known clients have eight. Mosquitto ends a connection over 202 and AWS over nine; others have their own limits. */
const MAX_RESPONSE_LEVELS = 16

const RESPONSE_TOPIC = /^clients\/([^/]+)\/services\/statestore\//

/**
 * Finds out who sent a request through a broker that does not say. Without a property it is whoever the response topic
 * belongs to, which holds as far as the broker lets nobody else subscribe and publish there; with one, whoever the broker
 * says in it, and the response topic has to belong to the same client. A client may send that property as well, so one that
 * comes twice is believed of nobody. `undefined`: there is nowhere to answer.
 *
 * @param vouched - user property in which the broker names the client
 */
export function identifyRequester(message: Content, vouched: string | undefined): RequesterIdentity | undefined {
  const { responseTopic, userProperties } = message
  const [, owner] = RESPONSE_TOPIC.exec(responseTopic ?? '') ?? []
  if (responseTopic === undefined || owner === undefined || !isTopicName(responseTopic) || /[+#]/.test(responseTopic))
    return undefined
  if (!isPublishable(responseTopic, MAX_RESPONSE_LEVELS)) return { unanswerable: owner }
  if (vouched === undefined) return { clientId: nameOf(owner, userProperties[PROPERTY.sourceId]) }
  const value = userProperties[vouched]
  if (value === undefined)
    return {
      refused: `the broker has to say in the user property ${vouched} who a client is`,
      property: vouched,
      value: '',
    }
  if (typeof value !== 'string') return { impostor: undefined }
  return responseTopicRejection(value, responseTopic) === undefined ? { clientId: value } : { impostor: value }
}

/** Some clients have their response topic below the Base16 form of their id. */
function nameOf(owner: string, source: string | readonly string[] | undefined): string {
  const isHidden = typeof source === 'string' && toHex(utf8(source)) === owner.toUpperCase()
  return isHidden ? source : owner
}
