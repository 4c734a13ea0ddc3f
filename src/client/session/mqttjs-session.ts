import type { Publish } from '../../core/mqtt5/packets.js'
import { copyIfSparse } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ConnectionRefusedError, PayloadError, type StateStoreError } from '../../core/util/errors.js'
import type { AddressRouter } from './addresses.js'
import { LossDetails } from './connection-loss.js'
import { ConnectionManager, type Reconnecting } from './connection-manager.js'
import { type Inbox, type InboxEvents, inboxFor } from './inbox.js'
import { listenTo, type MqttJsClient, type MqttJsServer, numericCode, toMessage } from './mqttjs-client.js'
import { subscribedAnew } from './mqttjs-internals.js'
import { MOST_OWN_IDS, OwnPacketIds, Publisher, SharedPacketIds } from './publisher.js'
import { disconnectMessage, isFatalReason } from './reasons.js'
import type { ConnectionInfo, Done, InboundMessage, MqttSession, ServiceSession, SessionListener } from './session.js'
import { checkAlive, onWake } from './wake.js'

/** Maximum wait for SUBACK before the connection is dropped, ms. */
const SUBACK_TIMEOUT = 10_000

/** Maximum time of a graceful close before the connection is dropped, ms. */
const CLOSE_TIMEOUT = 1_000

/** Marks a caller's client that has a session, across copies of this package: a client can serve only one. */
const SHARED = Symbol.for('rx-statestore.shared')

/** Whether a caller's client already has a session. */
export const isShared = (client: MqttJsClient): boolean => Reflect.has(client, SHARED)

/** A connection that the session owns. */
export interface OwnedConnection {
  readonly route: AddressRouter
  readonly reconnecting: Reconnecting
  /** Of inbound packets, bytes. */
  readonly maximumPacketSize: number
  /** Whether the listener acknowledges messages. */
  readonly byHand: boolean
  /** Retain As Published. */
  readonly asPublished: boolean
}

/** `mute`: the broker resumed the session, and no message has arrived yet. `broken`: connected, but unusable. */
type Connection = 'none' | 'mute' | 'used' | 'broken'

/** A session on an mqtt.js client. `mqttjs-internals.ts` has everything undocumented that it relies on. */
export class MqttJsSession implements MqttSession, ServiceSession {
  readonly clientId: string
  readonly shared: boolean
  readonly #client: MqttJsClient
  /** `undefined` for a caller's client. */
  readonly #connectionManager: ConnectionManager | undefined
  readonly #clock: Clock
  readonly #publisher: Publisher
  readonly #filters = new Set<string>()
  readonly #asPublished: boolean
  /** Reads inbound messages directly; `undefined` for a caller's client, whose messages may be the caller's. */
  readonly #inbox: Inbox | undefined
  #listener: SessionListener | undefined
  #detach: () => void = () => undefined
  #connection: Connection = 'none'
  readonly #lossDetails = new LossDetails()
  #stopChecking: () => void = () => undefined

  constructor(client: MqttJsClient, own: OwnedConnection | undefined, clock: Clock) {
    this.#client = client
    this.#publisher = new Publisher(client, own ? new OwnPacketIds() : new SharedPacketIds(client))
    this.#asPublished = own?.asPublished ?? false
    this.#inbox = own && this.#inboxOf(own)
    this.#connectionManager =
      own &&
      new ConnectionManager(own.route, own.reconnecting, clock, {
        waiting: (cause, retry) => this.#listener?.disconnected(cause, retry),
        gaveUp: cause => this.#giveUp(cause),
      })
    this.#clock = clock
    this.shared = own === undefined
    this.clientId = client.options.clientId ?? ''
  }

  get url(): string | undefined {
    return this.#connectionManager?.url
  }

  get received(): number | undefined {
    if (this.#inbox) return this.#inbox.received
    const { stream } = this.#client
    return 'bytesRead' in stream && typeof stream.bytesRead === 'number' ? stream.bytesRead : undefined
  }

  open(listener: SessionListener): void {
    this.#listener = listener
    const client = this.#client
    if (this.shared) Reflect.defineProperty(client, SHARED, { value: true, configurable: true })
    const detach = listenTo(client, {
      connect: packet => this.#connected(packet.sessionPresent, packet.properties),
      packetreceive: packet => {
        this.#lossDetails.received(packet)
        this.#publisher.received(packet)
      },
      message: (topic, _payload, packet) => this.#heard(toMessage(topic, packet)),
      disconnect: ({ reasonCode = 0 }) =>
        this.#break(new Error(disconnectMessage(reasonCode, this.clientId)), reasonCode),
      error: error => {
        // mqtt.js reports malformed packets and then keeps waiting.
        if (!this.shared) this.#break(error, numericCode(error))
        else this.#lossDetails.because(error, numericCode(error))
      },
      close: () => this.#closed(),
      end: () => this.#ended(undefined),
    })
    this.#detach = () => {
      detach()
      // A socket may fail later, and an 'error' without a listener ends the process.
      if (!this.shared) client.on('error', () => undefined)
    }
    if (this.#connectionManager) {
      this.#stopChecking = onWake(this.#clock, () => this.#woke())
      this.#connectionManager.start()
    }
    // For a client that is already connected, assume that the broker resumed its session.
    if (client.connected) this.#connected(true, client.serverProperties)
  }

  sizeOf(message: Publish): number {
    return this.#publisher.sizeOf(message)
  }

  publish(message: Publish, done: Done, retain = false): void {
    this.#publisher.publish(message, done, retain)
  }

  acknowledge(packetId: number): void {
    this.#publisher.acknowledge(packetId)
  }

  subscribe(
    filters: readonly string[],
    subscriptionId: number | undefined,
    done: (reasonCodes: readonly number[]) => void,
  ): void {
    for (const filter of filters) this.#filters.add(filter)
    const { stream } = this.#client
    const cancel = this.#clock.schedule(SUBACK_TIMEOUT, () => {
      this.#lossDetails.because(new Error('no response to SUBSCRIBE'), undefined)
      // Only the caller may end its connection.
      if (!this.shared) stream.destroy()
    })
    stream.once('close', cancel)
    const options = subscriptionId === undefined ? {} : { properties: { subscriptionIdentifier: subscriptionId } }
    this.#client.subscribe(subscribedAnew(filters, this.#asPublished), options, (_error, _granted, packet) => {
      cancel()
      stream.off('close', cancel)
      if (packet !== undefined) done(packet.granted.map(Number))
    })
  }

  unsubscribe(filters: Iterable<string>, done: () => void): void {
    if (!this.#client.connected) return
    this.#client.unsubscribe(Array.from(filters), {}, error => {
      if (!error) done()
    })
  }

  doubt(): void {
    if (this.#connectionManager === undefined || this.#connection !== 'mute') return
    this.#connectionManager.beginAnew()
    this.#break(new Error('no messages arrive in the resumed session'))
  }

  close(keep = false): void {
    this.#connectionManager?.cancel()
    this.#publisher.flush()
    if (this.shared) {
      this.unsubscribe(this.#filters, () => undefined)
      this.#ended(undefined)
      return
    }
    const client = this.#client
    this.#publisher.forget()
    if (!client.connected) {
      this.#abandon()
      this.#ended(undefined)
      return
    }
    // mqtt.js awaits all pending acknowledgements before `end`, and some may never arrive.
    const giveUp = this.#clock.schedule(CLOSE_TIMEOUT, () => client.stream.destroy())
    client.once('close', () => {
      giveUp()
      this.#ended(undefined)
    })
    // After a deliberate close the broker can discard the session.
    client.end(false, keep ? {} : { properties: { sessionExpiryInterval: 0 } })
  }

  #inboxOf({ route, maximumPacketSize, byHand }: OwnedConnection): Inbox | undefined {
    const events: InboxEvents = {
      published: message => {
        if (message.qos === 1 && !byHand) this.#publisher.acknowledge(message.packetId)
        this.#heard({ ...message, payload: copyIfSparse(message.payload) })
      },
      acknowledged: (packetId, reasonCode) => this.#publisher.acknowledged(packetId, reasonCode),
      unreadable: error => this.#break(error),
    }
    return inboxFor(route.client, events, maximumPacketSize)
  }

  #heard(message: InboundMessage): void {
    if (this.#connection === 'mute') this.#connection = 'used'
    this.#listener?.message(message)
  }

  #connected(sessionPresent: boolean, properties: MqttJsServer | undefined): void {
    const { stream } = this.#client
    // Packets that arrived with CONNACK already ended the connection; the loss is reported on close.
    if ('destroyed' in stream && stream.destroyed) return
    // mqtt.js leaves Nagle's algorithm on, which costs 45 ms a request.
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
    this.#lossDetails.connected()
    this.#connection = sessionPresent ? 'mute' : 'used'
    this.#connectionManager?.connected()
    try {
      this.#listener?.connected(connectionInfo(sessionPresent, properties))
    } catch (error) {
      if (error instanceof ConnectionRefusedError) this.#giveUp(error)
      else if (error instanceof PayloadError) this.#break(error)
      else throw error
      return
    }
    this.#inbox?.ready()
  }

  /** Drops an unusable connection. A broker may leave it open after DISCONNECT (MQTT 5.0, section 3.14.4). */
  #break(error: Error, reasonCode?: number): void {
    this.#lossDetails.because(error, reasonCode)
    // Only the caller may end its connection.
    if (!this.shared) this.#client.stream.destroy()
    else if (this.#connection !== 'broken') this.#lost()
    this.#connection = 'broken'
  }

  #closed(): void {
    if (!this.shared || this.#connection !== 'broken') this.#lost()
    this.#connection = 'none'
  }

  #lost(): void {
    this.#publisher.forget()
    const loss = this.#lossDetails.take(this.url)
    if (this.#client.disconnecting) return
    if (this.#connectionManager) this.#connectionManager.lost(loss)
    else if (isFatalReason(loss.reasonCode)) this.#giveUp(loss.refusal)
    else this.#listener?.disconnected(loss.error, undefined)
  }

  /** The connection may have died silently while the machine slept. */
  #woke(): void {
    const client = this.#client
    if (!client.connected) {
      this.#connectionManager?.hurry()
      return
    }
    checkAlive(client, this.#clock, () => this.#break(new Error('no response after system sleep')))
  }

  #giveUp(cause: StateStoreError): void {
    this.#abandon()
    this.#ended(cause)
  }

  /** mqtt.js cannot end a client that never connected. */
  #abandon(): void {
    if (this.#connectionManager?.dialled) this.#client.end(true)
  }

  #ended(cause: StateStoreError | undefined): void {
    const listener = this.#listener
    if (listener === undefined) return
    this.#listener = undefined
    this.#connectionManager?.cancel()
    this.#stopChecking()
    this.#publisher.forget()
    this.#detach()
    Reflect.deleteProperty(this.#client, SHARED)
    listener.closed(cause)
  }
}

const QOS_NOT_SUPPORTED = 155
const ONLY_QOS_0 =
  'The broker supports only QoS 0 (Maximum QoS in CONNACK), but requests to a state store need QoS 1: allow QoS 1 there'

/**
 * Reads the broker's limits from CONNACK. Raises {@link PayloadError} for an unusable limit, which is a protocol error
 * (MQTT 5.0, sections 3.2.2.3.3 and 3.2.2.3.6), and {@link ConnectionRefusedError} for a broker without QoS 1.
 */
function connectionInfo(sessionPresent: boolean, properties: MqttJsServer | undefined): ConnectionInfo {
  if (properties?.maximumQoS === 0) throw new ConnectionRefusedError(ONLY_QOS_0, QOS_NOT_SUPPORTED)
  return {
    sessionPresent,
    receiveMaximum: Math.min(limit('receive maximum', properties?.receiveMaximum) ?? MOST_OWN_IDS, MOST_OWN_IDS),
    maximumPacketSize: limit('maximum packet size', properties?.maximumPacketSize),
    subscriptionIds: properties?.subscriptionIdentifiersAvailable !== false,
    retain: properties?.retainAvailable !== false,
    wildcards: properties?.wildcardSubscriptionAvailable !== false,
  }
}

// mqtt.js makes an array of a repeated property.
function limit(name: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0)) return value
  throw new PayloadError(`the broker sent a ${name} of ${value}`)
}
