import type { Subject } from 'rxjs'
import type { Done, InboundMessage } from '../../client/session/session.js'
import type { Content, Incoming, PropertiesByName, Publish } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { NO_USER_PROPERTIES } from '../../core/mqtt5/properties.js'
import { isPublishable } from '../../core/mqtt5/topic.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { concatBytes, fromBinaryString, putAscii, toHex, utf8 } from '../../core/util/bytes.js'
import { type RequestMessage, type RequestReport, StoreService } from '../service/store-service.js'
import { isTopicName, responseTopicRejection } from '../service/topic-rules.js'
import type { OpenedStorage } from '../storage/storage.js'
import { volatileRule } from '../storage/storage-options.js'
import type { Settings } from './options.js'
import type { Handling, OutboundQueue } from './outbound-queue.js'
import { notifiedKey, type RemoteClient, RemoteClients } from './remote-clients.js'

export interface RequestHandlerEvents {
  readonly requests$: Subject<RequestReport>
  onDrift(drift: number): void
  onStorageChange(failure: Parameters<StoreService['report']>[0]): void
  onFault(error: unknown): void
  /** Called when a quota rejected a request. */
  onQuotaExceeded(client: Client, request: Incoming): void
  /**
   * Called when a request gets no response because its response topic belongs to another client or would be rejected by
   * some brokers.
   *
   * @param clientId - the requester, if known
   */
  onUnanswered(clientId: string | undefined, responseTopic: string): void
}

/** The rights of clients after a change of the policy. */
export interface ChangedRights {
  canRead(client: Client, key: Uint8Array): boolean
  /** Returns whether a client may read the same patterns of keys as before. */
  canReadSame(client: Client): boolean
}

interface PendingRequest {
  readonly message: InboundMessage
  readonly client: RemoteClient
  readonly requestCount: number
  readonly done: () => void
}

/** Passes requests from the broker to the store, and publishes the store's responses and notifications. */
export class AttachedRequestHandler {
  readonly server: StoreService
  readonly engine: OpenedStorage['engine']
  readonly clients: RemoteClients
  /** The start time in ms since the Unix epoch. */
  readonly startedAt: number
  readonly #settings: Settings
  readonly #outbound: OutboundQueue
  readonly #events: RequestHandlerEvents
  readonly #pending = new Map<Incoming, PendingRequest>()
  #template = new ResponseTemplate('')

  constructor(
    { engine, log, failure, clock: storeClock }: OpenedStorage,
    settings: Settings,
    outbound: OutboundQueue,
    events: RequestHandlerEvents,
  ) {
    const { dialect, clock } = settings.keyspace
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
      isVolatile: volatileRule(settings.keyspace),
      clock: storeClock,
      notifications: 'registered',
      publish: () => undefined,
      sendResponse: (_, message, content) => this.#respond(message, content),
      exceededPacketSize: (message, content) => this.#exceededPacketSize(message, content),
      onDrift: events.onDrift,
      onLogHealth: events.onStorageChange,
      onError: events.onFault,
      onQuotaExceeded: events.onQuotaExceeded,
    })
    if (failure !== undefined) this.server.report(failure)
  }

  get instanceId(): string {
    return this.#template.instanceId
  }

  set instanceId(instanceId: string) {
    this.#template = new ResponseTemplate(instanceId)
  }

  /**
   * Handles a message. Calls `done` when the message may be acknowledged, which is after its response was published.
   */
  handle(message: InboundMessage, done: () => void): void {
    const { topic, correlationData, responseTopic } = message
    const identity =
      topic === INVOKE_TOPIC && correlationData ? identifyRequester(message, this.#identityProperty) : undefined
    if (identity === undefined || responseTopic === undefined) {
      done()
      return
    }
    if ('impostor' in identity) {
      this.#events.onUnanswered(identity.impostor, responseTopic)
      done()
      return
    }
    if ('unanswerable' in identity) {
      this.#events.onUnanswered(identity.unanswerable, responseTopic)
      done()
      return
    }
    if ('refused' in identity) {
      const { refused, property, value } = identity
      const response = this.#template.responseTo(message, responseTopic, badRequest(refused, property, value))
      this.#outbound.push(response, done, handlingOf(message))
      return
    }
    const client = this.clients.recordRequest(identity.clientId)
    const request = toRequest(message)
    this.#pending.set(request, { message, client, requestCount: client.requestCount, done })
    this.server.handleRequest(client, request)
  }

  onClientDisconnected(clientId: string): void {
    this.clients.onDisconnected(clientId)
  }

  /**
   * Ends the watches of keys that their clients may no longer read, and all globs of clients that may read other keys
   * than before. Returns whether there are any. The other watches remain, because clients of other vendors do not
   * register again. Discards the notifications of keys that their clients may no longer read.
   */
  endWatches({ canRead, canReadSame }: ChangedRights): boolean {
    const { watchers } = this.engine
    this.#outbound.discardNotifications((receiver, topic) => {
      const client = this.clients.find(receiver)
      const key = notifiedKey(topic)
      return client === undefined || key === undefined || !canRead(client, key)
    })
    let hasEnded = false
    for (const client of Array.from(this.clients.watchingClients())) {
      for (const key of Array.from(watchers.keysOf(client))) {
        if (canRead(client, fromBinaryString(key))) continue
        watchers.remove(client, key)
        hasEnded = true
      }
      if (watchers.globs.countOf(client) === 0 || canReadSame(client)) continue
      watchers.removeGlobs(client)
      hasEnded = true
    }
    return hasEnded
  }

  get #identityProperty(): string | undefined {
    return this.#settings.identityProperty
  }

  #exceededPacketSize(request: Incoming, content: Content): number | undefined {
    const { message } = this.#pending.get(request) ?? {}
    if (message?.responseTopic === undefined) return undefined
    return this.#outbound.exceededPacketSize(this.#template.responseTo(message, message.responseTopic, content))
  }

  #respond(request: Incoming, content: Content): void {
    const pending = this.#pending.get(request)
    this.#pending.delete(request)
    const topic = pending?.message.responseTopic
    if (pending === undefined || topic === undefined) return
    const { message, client, requestCount, done } = pending
    const onAcknowledged: Done = refusal => {
      this.clients.onDelivered(client, requestCount, topic, refusal)
      done()
    }
    this.#outbound.push(this.#template.responseTo(message, topic, content), onAcknowledged, {
      ...handlingOf(message),
      receiver: client.clientId,
    })
  }
}

/** The broker redelivers every unacknowledged request except those with QoS 0. */
const handlingOf = ({ qos = 0 }: InboundMessage): Handling => ({ isRepeatable: qos > 0 })

const NO_BYTES = new Uint8Array(0)

/**
 * Converts a message to a request for the store. Brokers do not forward the DUP flag of a PUBLISH (MQTT 5.0, section
 * 3.3.1.1), so any request may be a repetition. The store recognises a repetition by its correlation data and
 * timestamp, which together are unique to a request. Without a timestamp, the store has only the DUP flag set by the
 * broker.
 *
 * Omits the message expiry, because the store forgets a reply when its request expires. A broker that has started to
 * deliver a message redelivers it after any interruption, even long after its expiry (MQTT 5.0, section 3.3.2.3.3).
 */
function toRequest(request: InboundMessage): RequestMessage {
  const { topic, payload, contentType, responseTopic, correlationData = NO_BYTES, userProperties } = request
  const timestamp = userProperties[PROPERTY.timestamp]
  const hasTimestamp = typeof timestamp === 'string'
  const correlation = hasTimestamp ? appendText(correlationData, timestamp) : new Uint8Array(correlationData)
  const { qos = 0, dup = false } = request
  // The properties are listed one by one for speed: this function runs for every request, and spreading is many times
  // slower.
  return {
    topic,
    payload,
    contentType,
    responseTopic,
    correlationData: correlation,
    userProperties,
    qos,
    dup: dup || hasTimestamp,
    isRedelivery: dup,
  }
}

function appendText(bytes: Uint8Array, text: string): Uint8Array {
  const result = new Uint8Array(bytes.length + text.length)
  if (putAscii(result, bytes.length, text) === undefined) return concatBytes([bytes, utf8(text)])
  result.set(bytes)
  return result
}

class ResponseTemplate {
  readonly instanceId: string
  /** Properties with the instance id, cached by object identity so that the packet encoder can reuse their encoding. */
  readonly #propertiesWithId = new WeakMap<PropertiesByName, PropertiesByName>()

  constructor(instanceId: string) {
    this.instanceId = instanceId
  }

  responseTo({ correlationData, messageExpiry }: InboundMessage, topic: string, content: Content): Publish {
    const { payload, contentType, userProperties, commonProperties = NO_USER_PROPERTIES } = content
    return {
      topic,
      payload,
      contentType,
      // The data is copied, because a view would retain the whole read buffer.
      correlationData: correlationData && new Uint8Array(correlationData),
      messageExpiry,
      userProperties,
      commonProperties: this.#withInstanceId(commonProperties),
    }
  }

  #withInstanceId(properties: PropertiesByName): PropertiesByName {
    const known = this.#propertiesWithId.get(properties)
    if (known !== undefined) return known
    const withId = { ...properties, [PROPERTY.instance]: this.instanceId }
    this.#propertiesWithId.set(properties, withId)
    return withId
  }
}

/** Returns the response to a request whose sender is unknown. */
const badRequest = (statusMessage: string, property: string, value: string): Content => ({
  payload: NO_BYTES,
  contentType: CONTENT_TYPE,
  userProperties: {
    [PROPERTY.status]: String(STATUS.badRequest),
    [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
    [PROPERTY.sourceId]: 'StateStore',
    [PROPERTY.statusMessage]: statusMessage,
    [PROPERTY.invalidProperty]: property,
    [PROPERTY.invalidValue]: value.slice(0, 80),
    [PROPERTY.highPriority]: '',
  },
})

/** A request's sender, or the reason why the sender is unknown. */
export type RequesterIdentity =
  | { readonly clientId: string }
  | { readonly refused: string; readonly property: string; readonly value: string }
  /** The owner of the response topic, whose form makes some brokers disconnect the publisher. */
  | { readonly unanswerable: string }
  /**
   * The client that the broker names as the sender, if known. The response might go to another client, so none is sent.
   */
  | { readonly impostor: string | undefined }

/**
 * The limit on the levels of a response topic. Official clients use eight levels. Mosquitto disconnects clients that
 * use more than 202 levels, AWS disconnects clients that use more than nine, and other brokers have other limits.
 */
const MAX_RESPONSE_LEVELS = 16

const RESPONSE_TOPIC = /^clients\/([^/]+)\/services\/statestore\//

/**
 * Identifies a request's sender, which brokers do not report. Without `identityProperty`, the sender is taken to
 * be the owner of the response topic, which is right if the broker lets no other client publish and subscribe to that
 * topic. With `identityProperty`, the sender is the client that the broker names in that user property, and the
 * response topic must belong to the same client. A client may also send the property itself, so a request that contains
 * the property twice is not trusted. Returns `undefined` if no response is possible.
 *
 * @param identityProperty - user property in which the broker names the client
 */
export function identifyRequester(
  message: Content,
  identityProperty: string | undefined,
): RequesterIdentity | undefined {
  const { responseTopic, userProperties } = message
  const [, owner] = RESPONSE_TOPIC.exec(responseTopic ?? '') ?? []
  if (responseTopic === undefined || owner === undefined || !isTopicName(responseTopic) || /[+#]/.test(responseTopic))
    return undefined
  if (!isPublishable(responseTopic, MAX_RESPONSE_LEVELS)) return { unanswerable: owner }
  if (identityProperty === undefined) return { clientId: clientIdOf(owner, userProperties[PROPERTY.sourceId]) }
  const value = userProperties[identityProperty]
  if (value === undefined)
    return {
      refused: `the request lacks the user property ${identityProperty}, in which the broker must name the client`,
      property: identityProperty,
      value: '',
    }
  if (typeof value !== 'string') return { impostor: undefined }
  return responseTopicRejection(value, responseTopic) === undefined ? { clientId: value } : { impostor: value }
}

/** Returns the client id of a topic's owner. Some clients use the Base16 form of their id in the response topic. */
function clientIdOf(owner: string, source: string | readonly string[] | undefined): string {
  const isEncoded = typeof source === 'string' && toHex(utf8(source)) === owner.toUpperCase()
  return isEncoded ? source : owner
}
