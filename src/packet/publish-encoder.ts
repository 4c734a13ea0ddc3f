import { FLAG, PACKET, PUBLISH_PROPERTY, putUint16, putVarint, sizeOfVarint } from './layout.js'
import type { Content, Publish } from './publish.js'

/** Gives memory for so many bytes; all of them are written. */
export type Room = (bytes: number) => Uint8Array

/** A user property whose value has come before; encoded when it comes a second time. */
interface Known {
  value: string
  encoded: Uint8Array | undefined
}

const encoder = new TextEncoder()

const ownMemory: Room = bytes => new Uint8Array(bytes)

/** Longer texts are left to the system's encoder, UTF-16 units. */
const LONGEST_LOOP = 256
/** User properties that are kept encoded, and their longest value, UTF-16 units. */
const MOST_KNOWN = 32
const LONGEST_KNOWN = 64

/**
 * Encodes MQTT 5 PUBLISH packets (MQTT 5.0, section 3.3), neither repeated nor retained. mqtt-packet, which mqtt.js and
 * aedes use, writes each in some thirty pieces, which is a third of a busy process's time; here a packet is one piece.
 *
 * @example
 * ```ts
 * const packet = new PublishEncoder().encode(request, 7)
 * ```
 */
export class PublishEncoder {
  /** The properties of {@link #content}, then the topic. */
  #block = new Uint8Array(1_024)
  #at = 0
  #propertiesEnd = 0
  #content: Content | undefined
  #topic: string | undefined
  readonly #known = new Map<string, Known>()

  /**
   * The whole packet; `packetId` is 1 to 65,535 for QoS 1, and 0 stands for QoS 0.
   *
   * @param room - gives the memory for it, as many bytes as it is told; default memory of its own
   */
  encode(publish: Publish, packetId: number, room: Room = ownMemory): Uint8Array {
    return this.encodeTo(publish.topic, publish, packetId, room)
  }

  /** The same for a content that goes to many topics: what is common is encoded once, if they come one after another. */
  encodeTo(topic: string, content: Content, packetId: number, room: Room): Uint8Array {
    const packet = this.#encode(topic, content, packetId, room, content.payload.length)
    packet.set(content.payload, packet.length - content.payload.length)
    return packet
  }

  /** All of the packet but the payload, which has to follow it. */
  encodeHead(topic: string, content: Content, packetId: number, room: Room): Uint8Array {
    return this.#encode(topic, content, packetId, room, 0)
  }

  #encode(topic: string, content: Content, packetId: number, room: Room, payloadRoom: number): Uint8Array {
    if (content !== this.#content) this.#properties(content)
    if (topic !== this.#topic) this.#putTopic(topic)
    const properties = this.#propertiesEnd
    const topicSize = this.#at - properties
    const idSize = packetId === 0 ? 0 : 2
    const remaining = topicSize + idSize + sizeOfVarint(properties) + properties + content.payload.length
    const packet = room(1 + sizeOfVarint(remaining) + remaining - content.payload.length + payloadRoom)
    packet[0] = (PACKET.publish << 4) | (packetId === 0 ? 0 : FLAG.qos1)
    let at = this.#copy(properties, this.#at, packet, putVarint(packet, 1, remaining))
    if (packetId !== 0) at = putUint16(packet, at, packetId)
    this.#copy(0, properties, packet, putVarint(packet, at, properties))
    return packet
  }

  #copy(from: number, to: number, packet: Uint8Array, at: number): number {
    packet.set(this.#block.subarray(from, to), at)
    return at + to - from
  }

  #putTopic(topic: string): void {
    this.#at = this.#propertiesEnd
    this.#text(topic)
    this.#topic = topic
  }

  #properties(content: Content): void {
    const { messageExpiry, contentType, responseTopic, correlationData, userProperties } = content
    this.#at = 0
    this.#topic = undefined
    if (messageExpiry !== undefined) this.#expiry(messageExpiry)
    if (contentType !== undefined) this.#labelled(PUBLISH_PROPERTY.contentType, contentType)
    if (responseTopic !== undefined) this.#labelled(PUBLISH_PROPERTY.responseTopic, responseTopic)
    if (correlationData !== undefined) this.#binary(PUBLISH_PROPERTY.correlationData, correlationData)
    for (const name of Object.keys(userProperties)) this.#userProperty(name, userProperties[name] ?? '')
    this.#propertiesEnd = this.#at
    this.#content = content
  }

  #expiry(seconds: number): void {
    this.#reserve(5)
    this.#block[this.#at] = PUBLISH_PROPERTY.messageExpiry
    this.#at = putUint16(this.#block, this.#at + 1, seconds >>> 16)
    this.#at = putUint16(this.#block, this.#at, seconds & 0xffff)
  }

  #binary(identifier: number, bytes: Uint8Array): void {
    this.#reserve(3 + bytes.length)
    this.#block[this.#at] = identifier
    this.#at = putUint16(this.#block, this.#at + 1, bytes.length)
    this.#block.set(bytes, this.#at)
    this.#at += bytes.length
  }

  #userProperty(name: string, value: string): void {
    const known = this.#known.get(name)
    if (known?.value === value && known.encoded !== undefined) {
      this.#reserve(known.encoded.length)
      this.#block.set(known.encoded, this.#at)
      this.#at += known.encoded.length
      return
    }
    const from = this.#at
    this.#labelled(PUBLISH_PROPERTY.userProperty, name)
    this.#text(value)
    this.#remember(name, value, known, from)
  }

  #remember(name: string, value: string, known: Known | undefined, from: number): void {
    if (value.length > LONGEST_KNOWN) return
    if (known === undefined) {
      if (this.#known.size < MOST_KNOWN) this.#known.set(name, { value, encoded: undefined })
      return
    }
    known.encoded = known.value === value ? this.#block.slice(from, this.#at) : undefined
    known.value = value
  }

  #labelled(identifier: number, text: string): void {
    this.#reserve(1)
    this.#block[this.#at++] = identifier
    this.#text(text)
  }

  #text(text: string): void {
    // One UTF-16 unit becomes three bytes of UTF-8 at most.
    this.#reserve(2 + 3 * text.length)
    const from = this.#at + 2
    const written = this.#ascii(text, from) ?? encoder.encodeInto(text, this.#block.subarray(from)).written
    this.#at = putUint16(this.#block, this.#at, written) + written
  }

  /** For short texts the call of the system's encoder would take longer. */
  #ascii(text: string, from: number): number | undefined {
    const { length } = text
    if (length > LONGEST_LOOP) return undefined
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 127) return undefined
      this.#block[from + i] = unit
    }
    return length
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#block.length) return
    const larger = new Uint8Array(2 * needed)
    larger.set(this.#block)
    this.#block = larger
  }
}
