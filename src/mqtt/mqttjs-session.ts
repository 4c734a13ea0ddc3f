import mqtt, { type IClientOptions, type IConnackPacket, type IPublishPacket, type MqttClient } from 'mqtt'
import { type BackoffOptions, backoff } from '../backoff.js'
import { utf8 } from '../bytes.js'
import type { Clock } from '../clock.js'
import {
  ArgumentError,
  ConnectionLostError,
  ConnectionRefusedError,
  RequestRejectedError,
  reason,
  type StateStoreError,
} from '../errors.js'
import { isFatalReason } from './reconnect.js'
import type { InboundMessage, MqttSession, OutboundRequest, SessionListener } from './session.js'

/** How to reach a broker; times in ms. */
export interface MqttConnectOptions {
  readonly url: string
  readonly clientId: string
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** PEM texts for TLS. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly keyPassphrase?: string | undefined
  readonly keepAlive: number
  readonly sessionExpiry: number
  readonly cleanStart: boolean
  readonly connectTimeout: number
  /** Enhanced authentication (MQTT 5.0, section 4.12), such as a Kubernetes service account token. */
  readonly authentication?: { readonly method: string; readonly data: Uint8Array } | undefined
}

/** Whose client it is, and how it comes back. */
interface Ownership {
  readonly owned: boolean
  readonly reconnect: BackoffOptions
  readonly clock: Clock
}

type Done = (refusal: RequestRejectedError | undefined) => void

const DEFAULT_RECEIVE_MAXIMUM = 65_535
/** How long a polite end may take before the connection is cut, ms. */
const CLOSE_TIMEOUT = 1_000
const RETRY_AFTER_STABLE = 5_000

/** A session on a connection of our own, which it opens at once. */
export function openSession(options: MqttConnectOptions, reconnect: BackoffOptions, clock: Clock): MqttSession {
  return new MqttJsSession(mqtt.connect(options.url, toClientOptions(options)), { owned: true, reconnect, clock })
}

/** A session on somebody else's `MqttClient`, which is never closed by us. Throws {@link ArgumentError} before MQTT 5. */
export function shareSession(client: MqttClient, clock: Clock): MqttSession {
  if (client.options.protocolVersion !== 5) {
    throw new ArgumentError(
      `Expected an MqttClient that speaks MQTT 5, got protocol version ${client.options.protocolVersion}: ` +
        'connect it with { protocolVersion: 5 }',
    )
  }
  return new MqttJsSession(client, { owned: false, reconnect: {}, clock })
}

function toClientOptions(options: MqttConnectOptions): IClientOptions {
  const { sessionExpiry, keepAlive, authentication } = options
  const properties = {
    sessionExpiryInterval: Math.ceil(sessionExpiry / 1000),
    ...(authentication ? { authenticationMethod: authentication.method, authenticationData: authentication.data } : {}),
  }
  const wanted = {
    clientId: options.clientId,
    username: options.username,
    password: options.password,
    ca: options.ca,
    cert: options.cert,
    key: options.key,
    passphrase: options.keyPassphrase,
    clean: options.cleanStart,
    keepalive: Math.ceil(keepAlive / 1000),
    connectTimeout: options.connectTimeout,
    protocolVersion: 5,
    // We reconnect and subscribe ourselves, in the order the state store needs.
    reconnectPeriod: 0,
    resubscribe: false,
    properties,
  }
  // mqtt.js reads an option that is there but undefined as a wish.
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
}

/** The one place that knows mqtt.js. */
class MqttJsSession implements MqttSession {
  readonly clientId: string
  readonly shared: boolean
  readonly #client: MqttClient
  readonly #owner: Ownership
  readonly #filters = new Set<string>()
  readonly #unacknowledged = new Set<number>()
  #listener: SessionListener | undefined
  #detach: () => void = () => undefined
  #cause: { readonly error: Error; readonly reasonCode: number | undefined } | undefined
  #attempt = 0
  #connectedAt: number | undefined
  #cancelRetry: () => void = () => undefined

  constructor(client: MqttClient, owner: Ownership) {
    this.#client = client
    this.#owner = owner
    this.shared = !owner.owned
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
      if (this.#owner.owned) client.on('error', () => undefined)
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
    const properties = {
      responseTopic: request.responseTopic,
      correlationData: request.correlationData,
      messageExpiryInterval: request.messageExpiry,
      payloadFormatIndicator: false,
      contentType: request.contentType,
      userProperties: request.userProperties,
    }
    // mqtt.js takes any Uint8Array, but its types ask for Node's Buffer.
    Reflect.apply(this.#client.publish, this.#client, [
      request.topic,
      request.payload,
      { qos: 1, properties },
      acknowledged,
    ])
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
      client.end(true)
      this.#ended(undefined)
      return
    }
    const giveUp = this.#owner.clock.schedule(CLOSE_TIMEOUT, () => client.stream.destroy())
    client.once('close', giveUp)
    // Closed on purpose: the broker need not keep anything for us.
    client.end(false, { properties: { sessionExpiryInterval: 0 } })
  }

  #connected(sessionPresent: boolean, properties: IConnackPacket['properties'] | undefined): void {
    const { stream } = this.#client
    // mqtt.js leaves Nagle's algorithm on, which costs 45 ms a request.
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
    this.#cause = undefined
    this.#connectedAt = this.#owner.clock.monotonic()
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
      if (this.#owner.owned) this.#client.end(true)
      const message = `The broker refused the connection: ${reason(cause?.error)}`
      this.#ended(new ConnectionRefusedError(message, cause?.reasonCode, options))
      return
    }
    const message = cause && `The connection to the broker was lost: ${reason(cause.error)}`
    const error = new ConnectionLostError(message, options)
    if (this.#owner.owned) this.#retry(error)
    else this.#listener?.disconnected(error, undefined)
  }

  #retry(cause: StateStoreError): void {
    const { clock, reconnect } = this.#owner
    const stable = this.#connectedAt !== undefined && clock.monotonic() - this.#connectedAt >= RETRY_AFTER_STABLE
    this.#connectedAt = undefined
    this.#attempt = stable ? 1 : this.#attempt + 1
    const delay = backoff(this.#attempt, reconnect)
    this.#cancelRetry = clock.schedule(delay, () => this.#client.reconnect())
    this.#listener?.disconnected(cause, { attempt: this.#attempt, at: clock.now() + delay })
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
    this.#forgetUnacknowledged()
    this.#detach()
    listener?.closed(cause)
  }
}

function toMessage({ topic, payload, properties }: IPublishPacket): InboundMessage {
  return {
    topic,
    // A copy: a value that is kept must not keep alive the network buffer it came in.
    payload: typeof payload === 'string' ? utf8(payload) : new Uint8Array(payload),
    correlationData: properties?.correlationData,
    contentType: properties?.contentType,
    userProperties: properties?.userProperties ?? {},
  }
}

const numericCode = (error: Error): number | undefined =>
  'code' in error && typeof error.code === 'number' ? error.code : undefined
