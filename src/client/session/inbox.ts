import { contentStart, encodePuback, uint16 } from '../../core/mqtt5/data-types.js'
import { FrameCutter } from '../../core/mqtt5/frame-cutter.js'
import { PacketError } from '../../core/mqtt5/packet-error.js'
import * as PACKET from '../../core/mqtt5/packet-types.js'
import type { InboundPublish } from '../../core/mqtt5/packets.js'
import { PublishDecoder } from '../../core/mqtt5/publish-decoder.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { utf8 } from '../../core/util/bytes.js'
import { PayloadError, StateStoreError } from '../../core/util/errors.js'
import { hasStreamBuilder, keepWhileReceiving, onStream, tapStream } from './mqttjs-internals.js'

/**
 * Maximum size of the packets that are left to mqtt.js, bytes. They are small control packets, and mqtt.js is slow with
 * large ones.
 */
const MAX_OTHER_PACKET_BYTES = 65_536

export interface InboxEvents {
  /** Called for a PUBLISH, which awaits a PUBACK with QoS 1. Its bytes are views of the read buffer. */
  published(message: InboundPublish): void
  /** Returns whether the PUBACK belongs to a message of this client. */
  acknowledged(packetId: number, reasonCode: number): boolean
  /** Called when the broker exceeds a limit or does not speak MQTT. Reading from this stream stops. */
  unreadable(error: StateStoreError): void
}

function rejectForeignProtocol(first: Uint8Array): void {
  const foreign = foreignProtocol(first)
  if (foreign !== undefined) throw new PayloadError(foreign)
}

export function inboxFor(client: object, events: InboxEvents, maxPacketBytes: number): Inbox | undefined {
  if (!hasStreamBuilder(client)) return undefined
  const inbox = new Inbox(events, maxPacketBytes)
  onStream(client, stream => inbox.attach(stream))
  keepWhileReceiving(client, () => inbox.receivedBytes)
  return inbox
}

/**
 * Reads messages and PUBACKs from a stream before mqtt.js does. mqtt.js takes twenty steps and a turn of its queue per
 * packet, which is half of a busy client's time. mqtt.js reads all other packets.
 */
export class Inbox {
  readonly #events: InboxEvents
  readonly #maxPacketBytes: number
  #stream: unknown
  #decoder = new PublishDecoder({ sender: 'server' })
  /** Packets that followed CONNACK and are held until mqtt.js has processed it. */
  #held: Uint8Array[] | undefined
  #passToMqttJs: ((frame: Uint8Array) => boolean) | undefined

  #receivedBytes = 0

  constructor(events: InboxEvents, maxPacketBytes: number) {
    this.#events = events
    this.#maxPacketBytes = maxPacketBytes
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  attach(stream: unknown): void {
    const cutter = new FrameCutter(this.#maxPacketBytes)
    let isReadable = true
    let hasBegun = false
    this.#stream = stream
    this.#decoder = new PublishDecoder({ sender: 'server' })
    this.#held = undefined
    this.#passToMqttJs = tapStream(stream, (chunk, pass) => {
      if (this.#stream !== stream) return pass(chunk)
      this.#receivedBytes += chunk.length
      if (!isReadable) return false
      let canContinue = true
      try {
        if (!hasBegun) rejectForeignProtocol(chunk)
        hasBegun = true
        cutter.push(chunk)
        for (let frame = this.#nextFrame(cutter); frame; frame = this.#nextFrame(cutter))
          if (!this.#consume(frame)) canContinue = pass(frame)
      } catch (error) {
        isReadable = false
        this.#reportUnreadable(error)
      }
      return isReadable && canContinue
    })
  }

  /** Releases the held packets, once mqtt.js has processed CONNACK. */
  releaseHeld(): void {
    const held = this.#held ?? []
    this.#held = undefined
    try {
      for (const frame of held) if (!this.#consume(frame)) this.#passToMqttJs?.(frame)
    } catch (error) {
      this.#reportUnreadable(error)
    }
  }

  /** Returns the next frame, and skips PUBACKs of this client's messages. */
  #nextFrame(cutter: FrameCutter): Uint8Array | undefined {
    while (this.#held === undefined) {
      const packetId = cutter.nextPuback()
      if (packetId === 0) break
      if (!this.#events.acknowledged(packetId, 0)) return encodePuback(packetId)
    }
    return cutter.next()
  }

  /** Returns whether the packet was consumed; otherwise mqtt.js gets it. */
  #consume(frame: Uint8Array): boolean {
    if (this.#consumeKnown(frame)) return true
    if (frame.length <= MAX_OTHER_PACKET_BYTES) return false
    const type = (frame[0] ?? 0) >> 4
    throw new PayloadError(`the broker sent an oversized packet of type ${type}: ${frame.length} bytes`)
  }

  #consumeKnown(frame: Uint8Array): boolean {
    const type = (frame[0] ?? 0) >> 4
    if (type === PACKET.connack) {
      this.#held = []
      return false
    }
    if (this.#held !== undefined) {
      this.#held.push(frame.slice())
      return true
    }
    if (type === PACKET.puback) return this.#consumePuback(frame)
    return type === PACKET.publish && this.#consumePublish(frame)
  }

  #reportUnreadable(error: unknown): void {
    if (!(error instanceof StateStoreError)) throw error
    this.#events.unreadable(error)
  }

  /** Returns whether the PUBACK was consumed. Without a reason code it means success (MQTT 5.0, section 3.4.2.1). */
  #consumePuback(frame: Uint8Array): boolean {
    const at = contentStart(frame)
    return frame.length >= at + 2 && this.#events.acknowledged(uint16(frame, at), frame[at + 2] ?? 0)
  }

  #consumePublish(frame: Uint8Array): boolean {
    const message = this.#decode(frame)
    if (message === undefined) return false
    if (message.topicAlias !== undefined) throw aliasError(message.topicAlias)
    // QoS 2 is left to mqtt.js, which keeps its state.
    if (message.qos === 2) return false
    this.#events.published(message)
    return true
  }

  /** Decodes a PUBLISH. Returns `undefined` for a malformed packet, which mqtt.js reports. */
  #decode(frame: Uint8Array): InboundPublish | undefined {
    try {
      return this.#decoder.decode(frame)
    } catch (error) {
      if (!(error instanceof PacketError)) throw error
      if (error.reasonCode === REASON.topicAliasInvalid) throw aliasError(0)
      return undefined
    }
  }
}

/** Returns the error for a topic alias, because CONNECT grants none (MQTT 5.0, section 3.1.2.11.5). */
const aliasError = (alias: number): PayloadError =>
  new PayloadError(`the broker used the topic alias ${alias}, but none was granted`)

const FOREIGN_PREFIXES: readonly (readonly [beginning: Uint8Array, what: string])[] = [
  [utf8('HTTP/'), 'HTTP: for MQTT over WebSocket use ws:// or wss://'],
  [utf8('<'), 'HTTP: for MQTT over WebSocket use ws:// or wss://'],
  [new Uint8Array([0x15, 3]), 'TLS: use mqtts:// or wss://'],
  [new Uint8Array([0x16, 3]), 'TLS: use mqtts:// or wss://'],
  [utf8('SSH-'), 'SSH'],
  [utf8('-ERR'), 'the Redis protocol'],
  [utf8('INFO {'), 'the NATS protocol'],
]
/**
 * First bytes of CONNACK, AUTH and DISCONNECT. The first two respond to CONNECT; some brokers refuse it with
 * DISCONNECT.
 */
const MQTT_FIRST_BYTES = [0x20, 0xf0, 0xe0]

/** Describes a server's protocol by its first bytes. Returns `undefined` for MQTT. */
export function foreignProtocol(first: Uint8Array): string | undefined {
  const [, what] = FOREIGN_PREFIXES.find(([prefix]) => prefix.every((byte, at) => first[at] === byte)) ?? []
  if (what !== undefined) return `the server speaks ${what}`
  return first[0] === undefined || MQTT_FIRST_BYTES.includes(first[0]) ? undefined : 'the server does not speak MQTT'
}
