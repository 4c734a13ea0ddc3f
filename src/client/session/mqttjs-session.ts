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

/** How long the answer to SUBSCRIBE may take before the connection is given up, ms. */
const SUBACK_TIMEOUT = 10_000

/** How long a polite end may take before the connection is cut, ms. */
const CLOSE_TIMEOUT = 1_000

/** Marks a client of somebody else's that has a session, for every copy of this package: there is no room for two on one. */
const SHARED = Symbol.for('rx-statestore.shared')

/** Whether a client of somebody else's has a session. */
export const isShared = (client: MqttJsClient): boolean => Reflect.has(client, SHARED)

/** A connection of our own. */
export interface OwnedConnection {
  readonly route: AddressRouter
  readonly reconnecting: Reconnecting
  /** Of what is read, bytes. */
  readonly maximumPacketSize: number
  /** Whether who listens acknowledges messages. */
  readonly byHand: boolean
  /** Whether messages say that they are retained from now on. */
  readonly asPublished: boolean
}

/**
 * What there is of a connection. `mute`: the broker kept the session, and nothing has come in it yet. `broken`: it is there,
 * and nothing is expected of it.
 */
type Connection = 'none' | 'mute' | 'used' | 'broken'

/** A session as mqtt.js has it; what is known of its insides is in `mqttjs-insides.ts`. */
export class MqttJsSession implements MqttSession, ServiceSession {
  readonly clientId: string
  readonly shared: boolean
  readonly #client: MqttJsClient
  /** Makes it come back; `undefined` when it is somebody else's. */
  readonly #connectionManager: ConnectionManager | undefined
  readonly #clock: Clock
  readonly #publisher: Publisher
  /** What was subscribed. */
  readonly #filters = new Set<string>()
  readonly #asPublished: boolean
  /** Reads our messages itself; what comes over somebody else's connection may be theirs. */
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
        // mqtt.js tells of packets that make no sense, and waits for more.
        if (!this.shared) this.#break(error, numericCode(error))
        else this.#lossDetails.because(error, numericCode(error))
      },
      close: () => this.#closed(),
      end: () => this.#ended(undefined),
    })
    this.#detach = () => {
      detach()
      // A socket may still fail after us, and an 'error' without a listener ends the process.
      if (!this.shared) client.on('error', () => undefined)
    }
    if (this.#connectionManager) {
      this.#stopChecking = onWake(this.#clock, () => this.#woke())
      this.#connectionManager.start()
    }
    // Whether the broker kept the session of a client that is connected already is not known: assume that it did.
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
      this.#lossDetails.because(new Error('no answer to SUBSCRIBE'), undefined)
      // Somebody else's connection is theirs to end.
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
    this.#break(new Error('nothing comes in the session that the broker kept'))
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
    // mqtt.js waits for every answer that is due before it says `end`, and some may never come.
    const giveUp = this.#clock.schedule(CLOSE_TIMEOUT, () => client.stream.destroy())
    client.once('close', () => {
      giveUp()
      this.#ended(undefined)
    })
    // Closed on purpose: the broker need not keep anything for us.
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
    // What came together with CONNACK was reason enough to end it, and is told when it has ended.
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

  /** The connection is there and of no use. A broker that says that it ends it need not do so (MQTT 5.0, section 3.14.4). */
  #break(error: Error, reasonCode?: number): void {
    this.#lossDetails.because(error, reasonCode)
    // Somebody else's connection is theirs to end.
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

  /** A machine that slept may have lost its connection without a word. */
  #woke(): void {
    const client = this.#client
    if (!client.connected) {
      this.#connectionManager?.hurry()
      return
    }
    checkAlive(client, this.#clock, () => this.#break(new Error('no answer after the machine slept')))
  }

  #giveUp(cause: StateStoreError): void {
    this.#abandon()
    this.#ended(cause)
  }

  /** mqtt.js cannot end what was never begun. */
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

/** MQTT 5.0, section 2.4. */
const QOS_NOT_SUPPORTED = 155
const ONLY_QOS_0 =
  'The broker takes messages with QoS 0 alone (its CONNACK says so), and requests to a state store need QoS 1: allow QoS 1 there'

/**
 * What a broker says of itself in CONNACK. Raises {@link PayloadError} for a limit with which nothing could be sent: it is
 * a protocol error (MQTT 5.0, sections 3.2.2.3.3 and 3.2.2.3.6), and {@link ConnectionRefusedError} for a broker that does
 * not take the QoS of requests.
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

// One that came twice is an array.
function limit(name: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0)) return value
  throw new PayloadError(`the broker has a ${name} of ${value}`)
}
