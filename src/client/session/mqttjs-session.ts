import type { Publish } from '../../core/mqtt5/packets.js'
import { PROPERTY } from '../../core/protocol/properties.js'
import { copyIfSparse } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ConnectionRefusedError, PayloadError, StateStoreError } from '../../core/util/errors.js'
import type { AddressRouter } from './addresses.js'
import { LossDetails } from './connection-loss.js'
import { ConnectionManager, type ReconnectSettings } from './connection-manager.js'
import { type Inbox, type InboxEvents, inboxFor } from './inbox.js'
import { listenTo, type MqttJsClient, type MqttJsServer, numericCode, toMessage } from './mqttjs-client.js'
import { toSubscribeFilters } from './mqttjs-internals.js'
import { MAX_OWN_IDS, OwnPacketIds, SharedPacketIds } from './packet-ids.js'
import { Publisher } from './publisher.js'
import { disconnectMessage, isFatalReason, isLoginRefusal } from './reasons.js'
import type { ConnectionInfo, Done, InboundMessage, MqttSession, ServiceSession, SessionListener } from './session.js'
import { onWake, WakeCheck } from './wake.js'

/** Maximum silence of the broker before SUBACK, after which the connection is dropped, ms; `connectTimeout` if longer. */
const SUBACK_TIMEOUT_MS = 10_000
/** Maximum interval of repeated SUBSCRIBEs over a caller's connection, ms. mqtt.js keeps each one until its SUBACK. */
const MAX_SUBSCRIBE_INTERVAL_MS = 300_000
const NO_SUBACK = 'no response to SUBSCRIBE'
/** Number of bytes in that time that still count as silence. Responses to pings take up to 40 bytes. */
const MAX_PING_BYTES = 64

/** Maximum time of a graceful close before the connection is dropped, ms. */
const CLOSE_TIMEOUT_MS = 1_000

/** Marks a caller's client that has a session, across copies of this package: a client can serve only one session. */
const SHARED = Symbol.for('rx-statestore.shared')

export const isShared = (client: MqttJsClient): boolean => Reflect.has(client, SHARED)

export interface OwnedConnection {
  readonly router: AddressRouter
  readonly reconnectSettings: ReconnectSettings
  /** Maximum size of packets from the broker, bytes. */
  readonly maximumPacketSize: number
  readonly isManualAck: boolean
  readonly retainAsPublished: boolean
}

/** `resumed`: the broker resumed the session, and no message has arrived yet. `broken`: connected, but unusable. */
type Connection = 'none' | 'resumed' | 'active' | 'broken'

/**
 * A session on an mqtt.js client. `mqttjs-internals.ts` contains all undocumented behaviour that the session relies on.
 */
export class MqttJsSession implements MqttSession, ServiceSession {
  readonly clientId: string
  readonly isShared: boolean
  readonly #client: MqttJsClient
  /** The connection manager; `undefined` for a caller's client. */
  readonly #connectionManager: ConnectionManager | undefined
  readonly #clock: Clock
  readonly #publisher: Publisher
  readonly #filters = new Set<string>()
  readonly #retainAsPublished: boolean
  /** Reads inbound messages directly; `undefined` for a caller's client, whose messages may be the caller's. */
  readonly #inbox: Inbox | undefined
  #listener: SessionListener | undefined
  #detach: () => void = () => undefined
  #connection: Connection = 'none'
  readonly #lossDetails = new LossDetails()
  #hasConnected = false
  #stopWakeChecks: () => void = () => undefined
  readonly #connectTimeoutMs: number
  readonly #wakeCheck: WakeCheck
  /** Functions that end the wait for the latest SUBACK, by the subscribed filters. */
  readonly #subackWaits = new Map<string, () => void>()

  constructor(client: MqttJsClient, own: OwnedConnection | undefined, clock: Clock) {
    this.#client = client
    this.#publisher = new Publisher(client, own ? new OwnPacketIds() : new SharedPacketIds(client))
    this.#connectTimeoutMs = own?.router.connectTimeout ?? 0
    this.#retainAsPublished = own?.retainAsPublished ?? false
    this.#inbox = own && this.#createInbox(own)
    this.#connectionManager =
      own &&
      new ConnectionManager(own.router, own.reconnectSettings, clock, {
        retryScheduled: (cause, retry) => this.#listener?.disconnected(cause, retry),
        gaveUp: cause => this.#giveUp(cause),
        failed: error => this.#listener?.failed(error),
        streamFailed: error => this.#lossDetails.streamFailed(error),
      })
    this.#clock = clock
    const link = {
      received: () => this.received,
      ping: () => client.sendPing(),
      onDead: () => this.#abort(new Error('no response after system sleep')),
    }
    this.#wakeCheck = new WakeCheck(link, clock, this.#connectTimeoutMs)
    this.isShared = own === undefined
    this.clientId = client.options.clientId ?? ''
  }

  get url(): string | undefined {
    return this.#connectionManager?.url
  }

  get received(): number | undefined {
    if (this.#inbox) return this.#inbox.receivedBytes
    const { stream } = this.#client
    return 'bytesRead' in stream && typeof stream.bytesRead === 'number' ? stream.bytesRead : undefined
  }

  open(listener: SessionListener): void {
    this.#listener = listener
    const client = this.#client
    if (this.isShared) Reflect.defineProperty(client, SHARED, { value: true, configurable: true })
    const detach = listenTo(client, {
      connect: packet => this.#onConnected(packet.sessionPresent, packet.properties),
      packetreceive: packet => {
        this.#lossDetails.received(packet)
        this.#publisher.received(packet)
      },
      message: (topic, _payload, packet) => this.#onMessage(toMessage(topic, packet)),
      disconnect: ({ reasonCode = 0 }) =>
        this.#abort(new Error(disconnectMessage(reasonCode, this.clientId)), reasonCode),
      error: error => {
        // mqtt.js reports a malformed packet and then keeps waiting.
        if (!this.isShared) this.#abort(error, numericCode(error))
        else this.#lossDetails.setCause(error, numericCode(error))
      },
      close: () => this.#onClosed(),
      end: () => this.#onEnded(undefined),
    })
    this.#detach = () => {
      detach()
      // The socket may fail later, and an 'error' event without a listener ends the process.
      if (!this.isShared) client.on('error', () => undefined)
    }
    if (this.#connectionManager) {
      this.#stopWakeChecks = onWake(
        this.#clock,
        () => this.#onWake(),
        () => this.retryNow(),
      )
      this.#connectionManager.start()
    }
    // If the client is already connected, the session is assumed to be a resumed one.
    if (client.connected) this.#onConnected(true, client.serverProperties)
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
    const name = filters.join()
    // A later subscription of a caller's client replaces the earlier one, which must not be sent again.
    if (this.isShared) this.#subackWaits.get(name)?.()
    const { stream } = this.#client
    const options = subscriptionId === undefined ? {} : { properties: { subscriptionIdentifier: subscriptionId } }
    let isAnswered = false
    const send = (): void => {
      this.#client.subscribe(
        toSubscribeFilters(filters, this.#retainAsPublished),
        options,
        (_error, _granted, packet) => {
          stop()
          if (packet === undefined || isAnswered) return
          isAnswered = true
          done(packet.granted.map(Number))
        },
      )
    }
    const cancel = this.#awaitSuback(send)
    const stop = (): void => {
      cancel()
      stream.off('close', stop)
    }
    this.#subackWaits.set(name, stop)
    stream.once('close', stop)
    send()
  }

  unsubscribe(filters: Iterable<string>, done: () => void): void {
    if (!this.#client.connected) return
    this.#client.unsubscribe(Array.from(filters), {}, error => {
      if (!error) done()
    })
  }

  verifyConnection(): void {
    if (this.#connectionManager === undefined || this.#connection !== 'resumed') return
    this.#connectionManager.startNewSession()
    this.#abort(new Error('no messages arrive in the resumed session'))
  }

  retryNow(): void {
    this.#connectionManager?.skipRetryDelay()
  }

  close(keepSession = false): void {
    this.#connectionManager?.cancel()
    this.#publisher.flush()
    if (this.isShared) {
      this.unsubscribe(this.#filters, () => undefined)
      this.#onEnded(undefined)
      return
    }
    const client = this.#client
    this.#publisher.dropCallbacks()
    if (!client.connected) {
      this.#forceEnd()
      this.#onEnded(undefined)
      return
    }
    // Before `end`, mqtt.js awaits all pending acknowledgements, some of which may never arrive.
    const cancelTimeout = this.#clock.schedule(CLOSE_TIMEOUT_MS, () => client.stream.destroy())
    client.once('close', () => {
      cancelTimeout()
      this.#onEnded(undefined)
    })
    // After a deliberate close the broker can discard the session.
    client.end(false, keepSession ? {} : { properties: { sessionExpiryInterval: 0 } })
  }

  /**
   * Drops the connection if only responses to pings arrive for a while. While messages arrive, the SUBACK may follow
   * them on a slow link. Only the caller may end its connection, over which `subscribeAgain` is called instead, at
   * growing intervals. Returns a function that ends the wait.
   */
  #awaitSuback(subscribeAgain: () => void): () => void {
    let cancel: () => void = () => undefined
    const wait = (timeoutMs: number): void => {
      const receivedBytes = this.received ?? 0
      cancel = this.#clock.schedule(timeoutMs, () => {
        if (this.isShared) {
          wait(Math.min(2 * timeoutMs, MAX_SUBSCRIBE_INTERVAL_MS))
          subscribeAgain()
          this.#listener?.failed(
            new StateStoreError('timeout', `The broker sent ${NO_SUBACK}; the client subscribes again`),
          )
        } else if ((this.received ?? 0) - receivedBytes > MAX_PING_BYTES) wait(timeoutMs)
        else this.#abort(new Error(NO_SUBACK))
      })
    }
    // Over a link with a long round trip, the user has raised `connectTimeout`.
    wait(Math.max(SUBACK_TIMEOUT_MS, this.#connectTimeoutMs))
    return () => cancel()
  }

  #endWaits(): void {
    this.#wakeCheck.cancel()
    for (const stop of this.#subackWaits.values()) stop()
  }

  #createInbox({ router, maximumPacketSize, isManualAck }: OwnedConnection): Inbox | undefined {
    const events: InboxEvents = {
      published: message => {
        if (message.qos === 1 && !isManualAck) this.#publisher.acknowledge(message.packetId)
        this.#onMessage({ ...message, payload: copyIfSparse(message.payload) })
      },
      acknowledged: (packetId, reasonCode) => this.#publisher.acknowledged(packetId, reasonCode),
      unreadable: error => this.#abort(error),
    }
    return inboxFor(router.client, events, maximumPacketSize)
  }

  #onMessage(message: InboundMessage): void {
    if (this.#connection === 'resumed') this.#connection = 'active'
    this.#listener?.message(message)
  }

  #onConnected(sessionPresent: boolean, properties: MqttJsServer | undefined): void {
    const { stream } = this.#client
    // A packet that arrived with CONNACK has already ended the connection; the loss is reported on close.
    if ('destroyed' in stream && stream.destroyed) return
    // mqtt.js leaves Nagle's algorithm on, which costs 45 ms per request.
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
    this.#lossDetails.connected()
    this.#hasConnected = true
    this.#connection = sessionPresent ? 'resumed' : 'active'
    this.#connectionManager?.connected()
    try {
      this.#listener?.connected(toConnectionInfo(sessionPresent, properties))
    } catch (error) {
      if (error instanceof ConnectionRefusedError) this.#giveUp(error)
      else if (error instanceof PayloadError) this.#abort(error)
      else throw error
      return
    }
    this.#inbox?.releaseHeld()
  }

  /**
   * Drops an unusable connection. A broker may leave the connection open after DISCONNECT (MQTT 5.0, section 3.14.4).
   */
  #abort(error: Error, reasonCode?: number): void {
    this.#lossDetails.setCause(error, reasonCode)
    // Only the caller may end its connection.
    if (!this.isShared) this.#client.stream.destroy()
    else if (this.#connection !== 'broken') this.#onLost()
    this.#connection = 'broken'
  }

  #onClosed(): void {
    if (!this.isShared || this.#connection !== 'broken') this.#onLost()
    this.#connection = 'none'
  }

  #onLost(): void {
    this.#endWaits()
    this.#publisher.dropCallbacks()
    const loss = this.#lossDetails.takeLoss(this.url, this.clientId)
    if (this.#client.disconnecting) return
    if (this.#connectionManager) this.#connectionManager.lost(loss)
    // The caller's client connects again, and may then have other credentials.
    else if (isFatalReason(loss.reasonCode) && !(this.#hasConnected && isLoginRefusal(loss.reasonCode)))
      this.#giveUp(loss.refusal)
    else this.#listener?.disconnected(loss.error, undefined)
  }

  /** Checks the connection, which may have died silently while the machine slept. */
  #onWake(): void {
    if (this.#client.connected) this.#wakeCheck.start()
    else this.retryNow()
  }

  #giveUp(cause: StateStoreError): void {
    this.#forceEnd()
    this.#onEnded(cause)
  }

  /** Ends the client, unless it never connected, in which case mqtt.js cannot end it. */
  #forceEnd(): void {
    if (this.#connectionManager?.hasAttempted) this.#client.end(true)
  }

  #onEnded(cause: StateStoreError | undefined): void {
    const listener = this.#listener
    if (listener === undefined) return
    this.#listener = undefined
    this.#connectionManager?.cancel()
    this.#stopWakeChecks()
    this.#endWaits()
    this.#publisher.dropCallbacks()
    this.#detach()
    Reflect.deleteProperty(this.#client, SHARED)
    listener.closed(cause)
  }
}

const QOS_NOT_SUPPORTED = 155
const ONLY_QOS_0_MESSAGE =
  'The broker supports only QoS 0 (Maximum QoS in CONNACK), but requests to a state store need QoS 1: allow QoS 1 there'

/**
 * Reads the broker's limits from CONNACK. Throws {@link PayloadError} for an unusable limit, which is a protocol error
 * (MQTT 5.0, sections 3.2.2.3.3 and 3.2.2.3.6), and {@link ConnectionRefusedError} for a broker without QoS 1.
 */
function toConnectionInfo(sessionPresent: boolean, properties: MqttJsServer | undefined): ConnectionInfo {
  if (properties?.maximumQoS === 0) throw new ConnectionRefusedError(ONLY_QOS_0_MESSAGE, QOS_NOT_SUPPORTED)
  return {
    sessionPresent,
    receiveMaximum: Math.min(parseLimit('receive maximum', properties?.receiveMaximum) ?? MAX_OWN_IDS, MAX_OWN_IDS),
    maximumPacketSize: parseLimit('maximum packet size', properties?.maximumPacketSize),
    hasSubscriptionIds: properties?.subscriptionIdentifiersAvailable !== false,
    canRetain: properties?.retainAvailable !== false,
    storeTime: Number(properties?.userProperties?.[PROPERTY.storeTime]) || undefined,
    hasWildcards: properties?.wildcardSubscriptionAvailable !== false,
  }
}

// mqtt.js turns a repeated property into an array.
function parseLimit(name: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0)) return value
  throw new PayloadError(`the broker sent a ${name} of ${value}`)
}
