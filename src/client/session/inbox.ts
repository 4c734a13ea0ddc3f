import { pubackOf, startOfContent, uint16 } from '../../core/mqtt5/data-types.js'
import { FrameCutter } from '../../core/mqtt5/frame-cutter.js'
import { PacketError } from '../../core/mqtt5/packet-error.js'
import * as PACKET from '../../core/mqtt5/packet-types.js'
import type { InboundPublish } from '../../core/mqtt5/packets.js'
import { PublishDecoder } from '../../core/mqtt5/publish-decoder.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { utf8 } from '../../core/util/bytes.js'
import { PayloadError, StateStoreError } from '../../core/util/errors.js'
import { hasStreamBuilder, onStream, tapStream } from './mqttjs-internals.js'

/**
 * Maximum size of packets left to mqtt.js, bytes. They are small control packets, and mqtt.js is slow with large ones.
 */
const LARGEST_OTHER = 65_536

export interface InboxEvents {
  /** A PUBLISH; with QoS 1 it awaits a PUBACK. Its bytes are views of the read buffer. */
  published(message: InboundPublish): void
  /** A PUBACK. Returns whether it belongs to a PUBLISH of ours. */
  acknowledged(packetId: number, reasonCode: number): boolean
  /** The broker exceeded a limit or does not speak MQTT. Reading from this stream stops. */
  unreadable(error: StateStoreError): void
}

function refuseForeign(first: Uint8Array): void {
  const foreign = foreignProtocol(first)
  if (foreign !== undefined) throw new PayloadError(foreign)
}

/** Creates an inbox for all streams of a client; `undefined` if they {@link hasStreamBuilder cannot be observed}. */
export function inboxFor(client: object, events: InboxEvents, largest: number): Inbox | undefined {
  if (!hasStreamBuilder(client)) return undefined
  const inbox = new Inbox(events, largest)
  onStream(client, stream => inbox.attach(stream))
  return inbox
}

/**
 * Reads messages and PUBACKs from a stream before mqtt.js does, which takes twenty steps and a turn of its queue per
 * packet: half of a busy client's time. mqtt.js reads all other packets.
 */
export class Inbox {
  readonly #events: InboxEvents
  readonly #largest: number
  #stream: unknown
  #decoder = new PublishDecoder({ sender: 'server' })
  /** Packets that followed CONNACK, held until mqtt.js has processed it. */
  #held: Uint8Array[] | undefined
  #leave: ((frame: Uint8Array) => boolean) | undefined

  #received = 0

  /** @param largest - maximum packet size, bytes */
  constructor(events: InboxEvents, largest: number) {
    this.#events = events
    this.#largest = largest
  }

  /** Bytes read from all streams. */
  get received(): number {
    return this.#received
  }

  /** Starts reading the stream of a new connection. */
  attach(stream: unknown): void {
    const cutter = new FrameCutter(this.#largest)
    let readable = true
    let hasBegun = false
    this.#stream = stream
    this.#decoder = new PublishDecoder({ sender: 'server' })
    this.#held = undefined
    this.#leave = tapStream(stream, (chunk, pass) => {
      if (this.#stream !== stream) return pass(chunk)
      this.#received += chunk.length
      if (!readable) return false
      let more = true
      try {
        if (!hasBegun) refuseForeign(chunk)
        hasBegun = true
        cutter.push(chunk)
        for (let frame = this.#next(cutter); frame; frame = this.#next(cutter))
          if (!this.#take(frame)) more = pass(frame)
      } catch (error) {
        readable = false
        this.#refuse(error)
      }
      return readable && more
    })
  }

  /** Releases the held packets, once mqtt.js has processed CONNACK. */
  ready(): void {
    const held = this.#held ?? []
    this.#held = undefined
    try {
      for (const frame of held) if (!this.#take(frame)) this.#leave?.(frame)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Returns the next packet, skipping PUBACKs of our own messages. */
  #next(cutter: FrameCutter): Uint8Array | undefined {
    while (this.#held === undefined) {
      const packetId = cutter.nextPuback()
      if (packetId === 0) break
      if (!this.#events.acknowledged(packetId, 0)) return pubackOf(packetId)
    }
    return cutter.next()
  }

  /** Returns whether the packet was consumed; mqtt.js gets it otherwise. */
  #take(frame: Uint8Array): boolean {
    if (this.#isOurs(frame)) return true
    if (frame.length <= LARGEST_OTHER) return false
    const type = (frame[0] ?? 0) >> 4
    throw new PayloadError(`the broker sent an oversized packet of type ${type}: ${frame.length} bytes`)
  }

  #isOurs(frame: Uint8Array): boolean {
    const type = (frame[0] ?? 0) >> 4
    if (type === PACKET.connack) {
      this.#held = []
      return false
    }
    if (this.#held !== undefined) {
      this.#held.push(frame.slice())
      return true
    }
    if (type === PACKET.puback) return this.#puback(frame)
    return type === PACKET.publish && this.#publish(frame)
  }

  #refuse(error: unknown): void {
    if (!(error instanceof StateStoreError)) throw error
    this.#events.unreadable(error)
  }

  /** MQTT 5.0, section 3.4.2.1: no reason code means success. */
  #puback(frame: Uint8Array): boolean {
    const at = startOfContent(frame)
    return frame.length >= at + 2 && this.#events.acknowledged(uint16(frame, at), frame[at + 2] ?? 0)
  }

  #publish(frame: Uint8Array): boolean {
    const message = this.#decode(frame)
    if (message === undefined) return false
    if (message.topicAlias !== undefined) throw aliasNotGranted(message.topicAlias)
    // mqtt.js keeps the state of QoS 2.
    if (message.qos === 2) return false
    this.#events.published(message)
    return true
  }

  /** Returns `undefined` for malformed packets, which mqtt.js reports. */
  #decode(frame: Uint8Array): InboundPublish | undefined {
    try {
      return this.#decoder.decode(frame)
    } catch (error) {
      if (!(error instanceof PacketError)) throw error
      if (error.reasonCode === REASON.topicAliasInvalid) throw aliasNotGranted(0)
      return undefined
    }
  }
}

/** CONNECT grants no topic aliases (MQTT 5.0, section 3.1.2.11.5). */
const aliasNotGranted = (alias: number): PayloadError =>
  new PayloadError(`the broker used the topic alias ${alias}, but none was granted`)

/** First bytes of other protocols, and advice. */
const BEGINNINGS: readonly (readonly [beginning: Uint8Array, what: string])[] = [
  [utf8('HTTP/'), 'HTTP: for MQTT over WebSocket write ws:// or wss://'],
  [utf8('<'), 'HTTP: for MQTT over WebSocket write ws:// or wss://'],
  [new Uint8Array([0x15, 3]), 'TLS: write mqtts:// or wss://'],
  [new Uint8Array([0x16, 3]), 'TLS: write mqtts:// or wss://'],
  [utf8('SSH-'), 'SSH'],
  [utf8('-ERR'), 'the protocol of Redis'],
  [utf8('INFO {'), 'the protocol of NATS'],
]
/** CONNACK and AUTH, which respond to CONNECT; some brokers refuse it with DISCONNECT. */
const FIRST_BYTES = [0x20, 0xf0, 0xe0]

/** Describes the protocol of a server by its first bytes; `undefined` for MQTT. */
export function foreignProtocol(first: Uint8Array): string | undefined {
  const [, what] = BEGINNINGS.find(([beginning]) => beginning.every((byte, at) => first[at] === byte)) ?? []
  if (what !== undefined) return `the server speaks ${what}`
  return first[0] === undefined || FIRST_BYTES.includes(first[0]) ? undefined : 'the server does not speak MQTT'
}
