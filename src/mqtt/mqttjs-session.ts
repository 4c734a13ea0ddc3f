import mqtt, { type IConnackPacket, type IPublishPacket, type MqttClient, type Packet } from 'mqtt'
import { keepable } from '../bytes.js'
import type { Clock } from '../clock.js'
import { ArgumentError, ConnectionLostError, ConnectionRefusedError, reason, type StateStoreError } from '../errors.js'
import { Dialler, type Reconnecting } from './dialler.js'
import { Inbox } from './inbox.js'
import { type MqttConnectOptions, toClientOptions } from './mqttjs-options.js'
import { numericCode, toMessage } from './mqttjs-packets.js'
import { MOST_OWN_IDS, OwnPacketIds, SharedPacketIds } from './packet-ids.js'
import { Publisher } from './publisher.js'
import { isFatalReason, TAKEN_OVER } from './reconnect.js'
import type { Done, MqttSession, OutboundRequest, SessionListener } from './session.js'
import { onWake } from './wake.js'

/** How long a polite end may take before the connection is cut, ms. */
const CLOSE_TIMEOUT = 1_000
/** How long the answer to SUBSCRIBE may take before the connection is given up, ms. */
const SUBACK_TIMEOUT = 10_000
/** How long a connection may be silent after the machine slept, ms. */
const WAKE_TIMEOUT = 3_000

/** A session on a connection of our own. Throws what the options make mqtt.js throw, once it is opened. */
export const openSession = (options: MqttConnectOptions, reconnecting: Reconnecting, clock: Clock): MqttSession =>
  new MqttJsSession(mqtt.connect(options.url, toClientOptions(options)), reconnecting, clock)

/** A session on somebody else's `MqttClient`, which is never closed by us. Throws {@link ArgumentError} before MQTT 5. */
export function shareSession(client: MqttClient, clock: Clock): MqttSession {
  if (client.disconnecting || client.disconnected) {
    throw new ArgumentError('Expected an MqttClient that is in use, got one that was ended')
  }
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
  /** Makes it come back; `undefined` when it is somebody else's. */
  readonly #dialler: Dialler | undefined
  readonly #clock: Clock
  readonly #publisher: Publisher
  /** Reads our messages itself; what comes over somebody else's connection may be theirs. */
  readonly #inbox: Inbox | undefined
  readonly #filters = new Set<string>()
  #listener: SessionListener | undefined
  #detach: () => void = () => undefined
  #cause: { readonly error: Error; readonly reasonCode: number | undefined } | undefined
  #stopChecking: () => void = () => undefined

  constructor(client: MqttClient, reconnecting: Reconnecting | undefined, clock: Clock) {
    this.#client = client
    this.#publisher = new Publisher(client, reconnecting ? new OwnPacketIds() : new SharedPacketIds(client))
    this.#inbox = reconnecting && this.#ownInbox()
    this.#dialler =
      reconnecting &&
      new Dialler(client, reconnecting, clock, {
        waiting: (cause, retry) => this.#listener?.disconnected(cause, retry),
        gaveUp: cause => this.#giveUp(cause),
      })
    this.#clock = clock
    this.shared = reconnecting === undefined
    this.clientId = client.options.clientId ?? ''
  }

  open(listener: SessionListener): void {
    this.#listener = listener
    const client = this.#client
    const handlers = {
      connect: (packet: IConnackPacket) => this.#connected(packet.sessionPresent, packet.properties),
      packetreceive: (packet: Packet) => this.#publisher.received(packet),
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
    client.on('packetreceive', handlers.packetreceive)
    this.#detach = () => {
      client.off('connect', handlers.connect).off('message', handlers.message).off('disconnect', handlers.disconnect)
      client.off('error', handlers.error).off('close', handlers.close).off('end', handlers.end)
      client.off('packetreceive', handlers.packetreceive)
      // A socket may still fail after us, and an 'error' that nobody hears ends the process.
      if (!this.shared) client.on('error', () => undefined)
    }
    if (this.#dialler) {
      this.#stopChecking = onWake(this.#clock, () => this.#woke())
      this.#dialler.start()
    }
    // Whether the broker kept the session of a client that is connected already is not known: assume that it did.
    if (client.connected) this.#connected(true, client.serverProperties)
  }

  publish(request: OutboundRequest, done: Done): void {
    this.#publisher.publish(request, done)
  }

  subscribe(filters: readonly string[], done: (reasonCodes: readonly number[]) => void): void {
    for (const filter of filters) this.#filters.add(filter)
    const { stream } = this.#client
    const late = this.#clock.schedule(SUBACK_TIMEOUT, () => {
      this.#cause = { error: new Error('no answer to SUBSCRIBE'), reasonCode: undefined }
      // Somebody else's connection is theirs to end.
      if (!this.shared) stream.destroy()
    })
    stream.once('close', late)
    const wanted = Object.fromEntries(filters.map(filter => [filter, { qos: 1 as const }]))
    // Without this flag mqtt.js answers by itself for a filter it subscribed before, and nothing is sent.
    this.#client.subscribe(Object.assign(wanted, { resubscribe: true }), (_error, _granted, packet) => {
      late()
      stream.off('close', late)
      if (packet !== undefined) done(packet.granted.map(Number))
    })
  }

  close(): void {
    this.#dialler?.cancel()
    this.#publisher.flush()
    if (this.shared) {
      if (this.#client.connected) this.#client.unsubscribe(Array.from(this.#filters))
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
    client.end(false, { properties: { sessionExpiryInterval: 0 } })
  }

  #ownInbox(): Inbox {
    const inbox = new Inbox({
      published: message => {
        if (message.qos === 1) this.#publisher.acknowledge(message.packetId)
        const { topic, correlationData, contentType, userProperties } = message
        const payload = keepable(message.payload)
        this.#listener?.message({ topic, payload, correlationData, contentType, userProperties })
      },
      acknowledged: (packetId, reasonCode) => this.#publisher.acknowledged(packetId, reasonCode),
    })
    onStream(this.#client, stream => inbox.attach(stream))
    return inbox
  }

  #connected(sessionPresent: boolean, properties: IConnackPacket['properties'] | undefined): void {
    const { stream } = this.#client
    // mqtt.js leaves Nagle's algorithm on, which costs 45 ms a request.
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true)
    this.#cause = undefined
    this.#dialler?.connected()
    this.#listener?.connected({
      sessionPresent,
      receiveMaximum: Math.min(properties?.receiveMaximum ?? MOST_OWN_IDS, MOST_OWN_IDS),
      maximumPacketSize: properties?.maximumPacketSize,
    })
    this.#inbox?.ready()
  }

  #lost(): void {
    this.#publisher.forget()
    const cause = this.#cause
    this.#cause = undefined
    if (this.#client.disconnecting) return
    const options = cause && { cause: cause.error }
    const ownDoing = cause?.reasonCode === TAKEN_OVER && this.#dialler?.mayHaveTakenOver
    if (isFatalReason(cause?.reasonCode) && !ownDoing) {
      const message = `The broker refused the connection: ${reason(cause?.error)}`
      this.#giveUp(new ConnectionRefusedError(message, cause?.reasonCode, options))
      return
    }
    const message = cause && `The connection to the broker was lost: ${reason(cause.error)}`
    const error = new ConnectionLostError(message, options)
    if (this.#dialler) this.#dialler.retry(error)
    else this.#listener?.disconnected(error, undefined)
  }

  /** A machine that slept may have lost its connection without a word. */
  #woke(): void {
    const client = this.#client
    if (!client.connected) {
      this.#dialler?.hurry()
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
    if (this.#dialler?.dialled) this.#client.end(true)
  }

  #ended(cause: StateStoreError | undefined): void {
    const listener = this.#listener
    if (listener === undefined) return
    this.#listener = undefined
    this.#dialler?.cancel()
    this.#stopChecking()
    this.#publisher.forget()
    this.#detach()
    listener.closed(cause)
  }
}

/** mqtt.js tells nobody of the stream of a new connection before it reads from it itself. */
function onStream(client: MqttClient, made: (stream: unknown) => void): void {
  const build: unknown = Reflect.get(client, 'streamBuilder')
  if (typeof build !== 'function') throw new Error('mqtt.js has no streamBuilder')
  Reflect.set(client, 'streamBuilder', (...args: unknown[]): unknown => {
    const stream: unknown = Reflect.apply(build, client, args)
    made(stream)
    return stream
  })
}
