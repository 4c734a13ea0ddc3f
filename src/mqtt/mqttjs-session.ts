import mqtt, { type IConnackPacket, type IPublishPacket, type MqttClient } from 'mqtt'
import type { Clock } from '../clock.js'
import {
  ArgumentError,
  ConnectionLostError,
  ConnectionRefusedError,
  RequestRejectedError,
  reason,
  type StateStoreError,
} from '../errors.js'
import { Coalescer } from './coalesce.js'
import { type Credentials, type MqttConnectOptions, toClientOptions, withCredentials } from './mqttjs-options.js'
import { numericCode, toMessage, toProperties } from './mqttjs-packets.js'
import { isFatalReason, type ReconnectStrategy } from './reconnect.js'
import type { MqttSession, OutboundRequest, SessionListener } from './session.js'
import { onWake } from './wake.js'

/** How a connection of our own comes back. */
export interface Reconnecting {
  readonly strategy: ReconnectStrategy
  /** Asked before every attempt to connect; without it the credentials stay those of the options. */
  readonly credentials: (() => Credentials | Promise<Credentials>) | undefined
}

type Done = (refusal: RequestRejectedError | undefined) => void

const DEFAULT_RECEIVE_MAXIMUM = 65_535
/** How long a polite end may take before the connection is cut, ms. */
const CLOSE_TIMEOUT = 1_000
/** A connection that held for so long starts the count of attempts anew, ms. */
const STABLE_AFTER = 5_000
/** How long a connection may be silent after the machine slept, ms. */
const WAKE_TIMEOUT = 3_000

/** A session on a connection of our own. Throws what the options make mqtt.js throw, once it is opened. */
export const openSession = (options: MqttConnectOptions, reconnecting: Reconnecting, clock: Clock): MqttSession =>
  new MqttJsSession(mqtt.connect(options.url, toClientOptions(options)), reconnecting, clock)

/** A session on somebody else's `MqttClient`, which is never closed by us. Throws {@link ArgumentError} before MQTT 5. */
export function shareSession(client: MqttClient, clock: Clock): MqttSession {
  if (client.options.protocolVersion !== 5) {
    throw new ArgumentError(
      `Expected an MqttClient that speaks MQTT 5, got protocol version ${client.options.protocolVersion}: ` +
        'connect it with { protocolVersion: 5 }',
    )
  }
  return new MqttJsSession(client, undefined, clock)
}

/** The one place that knows mqtt.js. */
class MqttJsSession implements MqttSession {
  readonly clientId: string
  readonly shared: boolean
  readonly #client: MqttClient
  /** How it comes back; `undefined` when it is somebody else's. */
  readonly #reconnecting: Reconnecting | undefined
  readonly #clock: Clock
  readonly #coalescer = new Coalescer()
  readonly #filters = new Set<string>()
  readonly #unacknowledged = new Set<number>()
  #listener: SessionListener | undefined
  #detach: () => void = () => undefined
  #cause: { readonly error: Error; readonly reasonCode: number | undefined } | undefined
  #attempt = 0
  #connectedAt: number | undefined
  #dialled = false
  #cancelRetry: () => void = () => undefined
  #stopChecking: () => void = () => undefined

  constructor(client: MqttClient, reconnecting: Reconnecting | undefined, clock: Clock) {
    this.#client = client
    this.#reconnecting = reconnecting
    this.#clock = clock
    this.shared = reconnecting === undefined
    this.clientId = client.options.clientId ?? ''
  }

  open(listener: SessionListener): void {
    this.#listener = listener
    const client = this.#client
    const handlers = {
      connect: (packet: IConnackPacket) => this.#connected(packet.sessionPresent, packet.properties),
      message: (_topic: string, _payload: Uint8Array, packet: IPublishPacket) =>
        this.#listener?.message(toMessage(packet)),
      disconnect: ({ reasonCode }: { reasonCode?: number }) => {
        this.#cause = { error: new Error(`the broker ended the connection (reason ${reasonCode ?? 0})`), reasonCode }
      },
      error: (error: Error) => {
        this.#cause = { error, reasonCode: numericCode(error) }
      },
      close: () => this.#lost(),
      end: () => this.#ended(undefined),
    }
    client.on('connect', handlers.connect).on('message', handlers.message).on('disconnect', handlers.disconnect)
    client.on('error', handlers.error).on('close', handlers.close).on('end', handlers.end)
    this.#detach = () => {
      client.off('connect', handlers.connect).off('message', handlers.message).off('disconnect', handlers.disconnect)
      client.off('error', handlers.error).off('close', handlers.close).off('end', handlers.end)
      // A socket may still fail after us, and an 'error' that nobody hears ends the process.
      if (!this.shared) client.on('error', () => undefined)
    }
    if (this.#reconnecting) {
      this.#stopChecking = onWake(this.#clock, () => this.#woke())
      this.#prepare(this.#reconnecting)
    }
    // Whether the broker kept the session of a client that is connected already is not known: assume that it did.
    if (client.connected) this.#connected(true, client.serverProperties)
  }

  publish(request: OutboundRequest, done: Done): void {
    let id = 0
    const acknowledged = (error?: Error | null): void => {
      this.#unacknowledged.delete(id)
      const code = error && numericCode(error)
      done(error ? new RequestRejectedError(code ?? 0, `The broker refused the request: ${reason(error)}`) : undefined)
    }
    // mqtt.js takes any Uint8Array, but its types ask for Node's Buffer.
    const args = [request.topic, request.payload, { qos: 1, properties: toProperties(request) }, acknowledged]
    this.#coalescer.before(this.#client.stream)
    Reflect.apply(this.#client.publish, this.#client, args)
    id = this.#client.getLastMessageId()
    // A shared client may be busy sending what it kept of its own; then the packet has no id yet.
    if (this.#client.outgoing[id]?.cb === acknowledged) this.#unacknowledged.add(id)
  }

  subscribe(filters: readonly string[], done: (reasonCodes: readonly number[]) => void): void {
    for (const filter of filters) this.#filters.add(filter)
    const wanted = Object.fromEntries(filters.map(filter => [filter, { qos: 1 as const }]))
    // Without this flag mqtt.js answers by itself for a filter it subscribed before, and nothing is sent.
    this.#client.subscribe(Object.assign(wanted, { resubscribe: true }), (_error, _granted, packet) => {
      if (packet !== undefined) done(packet.granted.map(Number))
    })
  }

  close(): void {
    this.#cancelRetry()
    if (this.shared) {
      if (this.#client.connected) this.#client.unsubscribe(Array.from(this.#filters))
      this.#ended(undefined)
      return
    }
    const client = this.#client
    this.#forgetUnacknowledged()
    if (!client.connected) {
      this.#abandon()
      this.#ended(undefined)
      return
    }
    const giveUp = this.#clock.schedule(CLOSE_TIMEOUT, () => client.stream.destroy())
    client.once('close', giveUp)
    // Closed on purpose: the broker need not keep anything for us.
    client.end(false, { properties: { sessionExpiryInterval: 0 } })
  }

  #connected(sessionPresent: boolean, properties: IConnackPacket['properties'] | undefined): void {
    const { stream } = this.#client
    // mqtt.js leaves Nagle's algorithm on, which costs 45 ms a request.
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
    this.#cause = undefined
    this.#connectedAt = this.#clock.monotonic()
    this.#listener?.connected({
      sessionPresent,
      receiveMaximum: properties?.receiveMaximum ?? DEFAULT_RECEIVE_MAXIMUM,
      maximumPacketSize: properties?.maximumPacketSize,
    })
  }

  #lost(): void {
    this.#forgetUnacknowledged()
    const cause = this.#cause
    this.#cause = undefined
    if (this.#client.disconnecting) return
    const options = cause && { cause: cause.error }
    if (isFatalReason(cause?.reasonCode)) {
      const message = `The broker refused the connection: ${reason(cause?.error)}`
      this.#giveUp(new ConnectionRefusedError(message, cause?.reasonCode, options))
      return
    }
    const message = cause && `The connection to the broker was lost: ${reason(cause.error)}`
    this.#retry(new ConnectionLostError(message, options))
  }

  #retry(cause: StateStoreError): void {
    const reconnecting = this.#reconnecting
    if (reconnecting === undefined) {
      this.#listener?.disconnected(cause, undefined)
      return
    }
    const stable = this.#connectedAt !== undefined && this.#clock.monotonic() - this.#connectedAt >= STABLE_AFTER
    this.#connectedAt = undefined
    this.#attempt = stable ? 1 : this.#attempt + 1
    const delay = reconnecting.strategy(this.#attempt, cause)
    if (delay === false) {
      this.#giveUp(cause)
      return
    }
    this.#cancelRetry = this.#clock.schedule(delay, () => this.#prepare(reconnecting))
    this.#listener?.disconnected(cause, { attempt: this.#attempt, at: this.#clock.now() + delay })
  }

  /** Asks for the credentials of the next attempt, then connects. */
  #prepare({ credentials }: Reconnecting): void {
    if (credentials === undefined) {
      this.#dial()
      return
    }
    let cancelled = false
    this.#cancelRetry = () => {
      cancelled = true
    }
    const connect = (fresh: Credentials): void => {
      if (cancelled) return
      withCredentials(this.#client.options, fresh)
      this.#tryToDial()
    }
    const failed = (cause: unknown): void => {
      if (!cancelled) this.#retry(new ConnectionLostError(`There are no credentials: ${reason(cause)}`, { cause }))
    }
    // A function that throws fails like one that rejects.
    Promise.resolve().then(credentials).then(connect, failed)
  }

  /** Outside `open` nobody hears what mqtt.js throws for options that came later. */
  #tryToDial(): void {
    try {
      this.#dial()
    } catch (cause) {
      this.#retry(new ConnectionLostError(`Cannot connect: ${reason(cause)}`, { cause }))
    }
  }

  #dial(): void {
    this.#client.reconnect()
    this.#dialled = true
  }

  /** A machine that slept may have lost its connection without a word, and need not wait out its backoff. */
  #woke(): void {
    const client = this.#client
    if (!client.connected) {
      if (this.#attempt > 0 && this.#connectedAt === undefined && this.#reconnecting) {
        this.#cancelRetry()
        this.#prepare(this.#reconnecting)
      }
      return
    }
    const alive = this.#clock.schedule(WAKE_TIMEOUT, () => {
      this.#cause = { error: new Error('no answer after the machine slept'), reasonCode: undefined }
      client.stream.destroy()
    })
    client.once('packetreceive', alive)
    client.once('close', alive)
    client.sendPing()
  }

  #giveUp(cause: StateStoreError): void {
    this.#abandon()
    this.#ended(cause)
  }

  /** mqtt.js cannot end what was never begun. */
  #abandon(): void {
    if (!this.shared && this.#dialled) this.#client.end(true)
  }

  // mqtt.js would send what was not acknowledged again after a reconnect, and apply a write twice.
  #forgetUnacknowledged(): void {
    for (const id of this.#unacknowledged) {
      const entry = this.#client.outgoing[id]
      if (entry) entry.cb = () => undefined
      this.#client.removeOutgoingMessage(id)
    }
    this.#unacknowledged.clear()
  }

  #ended(cause: StateStoreError | undefined): void {
    const listener = this.#listener
    this.#listener = undefined
    this.#cancelRetry()
    this.#stopChecking()
    this.#forgetUnacknowledged()
    this.#detach()
    listener?.closed(cause)
  }
}
