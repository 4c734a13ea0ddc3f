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
 * Packets that are left to mqtt.js are small, bytes: those of a connection, not of messages. It takes much memory and
 * time for what is long in them.
 */
const LARGEST_OTHER = 65_536

/** What it tells. */
export interface InboxEvents {
  /** A PUBLISH came; with QoS 1 it wants a PUBACK. Its bytes are views of what was read. */
  published(message: InboundPublish): void
  /** Whether the PUBACK answers a PUBLISH of ours. */
  acknowledged(packetId: number, reasonCode: number): boolean
  /** What came is more than was agreed, or no MQTT; nothing more is read from this stream. */
  unreadable(error: StateStoreError): void
}

function refuseForeign(first: Uint8Array): void {
  const foreign = foreignProtocol(first)
  if (foreign !== undefined) throw new PayloadError(foreign)
}

/** Reads what all streams of a client bring; `undefined` where they {@link hasStreamBuilder cannot be seen}. */
export function inboxFor(client: object, events: InboxEvents, largest: number): Inbox | undefined {
  if (!hasStreamBuilder(client)) return undefined
  const inbox = new Inbox(events, largest)
  onStream(client, stream => inbox.attach(stream))
  return inbox
}

/**
 * Reads messages and their acknowledgements from a stream before mqtt.js does. mqtt.js takes twenty steps and a turn of
 * its queue for a packet, which is half of a busy client's time; here it is read in one go. All else is mqtt.js's.
 */
export class Inbox {
  readonly #events: InboxEvents
  readonly #largest: number
  #stream: unknown
  #decoder = new PublishDecoder({ sender: 'server' })
  /** What came behind CONNACK, until mqtt.js has dealt with it; `undefined` before CONNACK and after that. */
  #held: Uint8Array[] | undefined
  /** Leaves to mqtt.js what is not taken after all. */
  #leave: ((frame: Uint8Array) => boolean) | undefined

  #received = 0

  /** @param largest - packet that is read, bytes */
  constructor(events: InboxEvents, largest: number) {
    this.#events = events
    this.#largest = largest
  }

  /** Bytes that all its streams have brought. */
  get received(): number {
    return this.#received
  }

  /** From now on reads what a new connection's stream brings. */
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

  /** mqtt.js has dealt with CONNACK. */
  ready(): void {
    const held = this.#held ?? []
    this.#held = undefined
    try {
      for (const frame of held) if (!this.#take(frame)) this.#leave?.(frame)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Skips what acknowledges messages of ours. */
  #next(cutter: FrameCutter): Uint8Array | undefined {
    while (this.#held === undefined) {
      const packetId = cutter.nextPuback()
      if (packetId === 0) break
      if (!this.#events.acknowledged(packetId, 0)) return pubackOf(packetId)
    }
    return cutter.next()
  }

  /** Whether the packet is ours; mqtt.js gets it otherwise. */
  #take(frame: Uint8Array): boolean {
    if (this.#isOurs(frame)) return true
    if (frame.length <= LARGEST_OTHER) return false
    const type = (frame[0] ?? 0) >> 4
    throw new PayloadError(`the broker sent too large a packet of type ${type}: ${frame.length} bytes`)
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
    // Of QoS 2 mqtt.js has the state.
    if (message.qos === 2) return false
    this.#events.published(message)
    return true
  }

  /** mqtt.js complains about what is not as it should be. */
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
  new PayloadError(`a message with the topic alias ${alias} came, and none was granted to the broker`)

/** How servers of other protocols begin, and what to do about it. */
const BEGINNINGS: readonly (readonly [beginning: Uint8Array, what: string])[] = [
  [utf8('HTTP/'), 'HTTP: for MQTT over WebSocket write ws:// or wss://'],
  [utf8('<'), 'HTTP: for MQTT over WebSocket write ws:// or wss://'],
  [new Uint8Array([0x15, 3]), 'TLS: write mqtts:// or wss://'],
  [new Uint8Array([0x16, 3]), 'TLS: write mqtts:// or wss://'],
  [utf8('SSH-'), 'SSH'],
  [utf8('-ERR'), 'the protocol of Redis'],
  [utf8('INFO {'), 'the protocol of NATS'],
]
/** CONNACK and AUTH, with which a broker answers CONNECT; DISCONNECT, with which some refuse it. */
const FIRST_BYTES = [0x20, 0xf0, 0xe0]

/** What a server speaks whose first bytes are no MQTT, in words; `undefined` for MQTT. */
export function foreignProtocol(first: Uint8Array): string | undefined {
  const [, what] = BEGINNINGS.find(([beginning]) => beginning.every((byte, at) => first[at] === byte)) ?? []
  if (what !== undefined) return `what answers there speaks ${what}`
  return first[0] === undefined || FIRST_BYTES.includes(first[0]) ? undefined : 'what answers there does not speak MQTT'
}
