import { utf8 } from '../bytes.js'
import type { OutboundRequest } from './session.js'

/** PUBLISH with QoS 1, neither repeated nor retained (MQTT 5.0, section 3.3.1). */
const PUBLISH_QOS1 = 0b0011_0010

/** Property identifiers (MQTT 5.0, section 2.2.2.2). */
const MESSAGE_EXPIRY = 0x02
const CONTENT_TYPE = 0x03
const RESPONSE_TOPIC = 0x08
const CORRELATION_DATA = 0x09
const USER_PROPERTY = 0x26

const encoder = new TextEncoder()

/**
 * Encodes requests as MQTT 5 PUBLISH packets (MQTT 5.0, section 3.3). mqtt.js writes each in some thirty pieces and
 * keeps a deep copy of it, which is a third of a busy client's time; here a packet is one piece.
 *
 * @example
 * ```ts
 * const packet = new PublishEncoder().encode(request, 7)
 * ```
 */
export class PublishEncoder {
  #block = new Uint8Array(1_024)
  #at = 0
  #topic = { text: '', bytes: utf8('') }

  /** The whole packet; `packetId` is 1 to 65,535. */
  encode(request: OutboundRequest, packetId: number): Uint8Array {
    const properties = this.#properties(request)
    const topic = this.#topicBytes(request.topic)
    const { payload } = request
    const remaining = 2 + topic.length + 2 + sizeOfVarint(properties.length) + properties.length + payload.length
    const packet = new Uint8Array(1 + sizeOfVarint(remaining) + remaining)
    packet[0] = PUBLISH_QOS1
    let at = putVarint(packet, 1, remaining)
    at = putUint16(packet, at, topic.length)
    packet.set(topic, at)
    at = putUint16(packet, at + topic.length, packetId)
    at = putVarint(packet, at, properties.length)
    packet.set(properties, at)
    packet.set(payload, at + properties.length)
    return packet
  }

  /** All requests go to the same topic. */
  #topicBytes(topic: string): Uint8Array {
    if (this.#topic.text !== topic) this.#topic = { text: topic, bytes: utf8(topic) }
    return this.#topic.bytes
  }

  /** The properties in a block that the next call overwrites. */
  #properties(request: OutboundRequest): Uint8Array {
    const { messageExpiry, contentType, responseTopic, correlationData, userProperties } = request
    this.#at = 0
    this.#reserve(5)
    this.#block[0] = MESSAGE_EXPIRY
    new DataView(this.#block.buffer).setUint32(1, messageExpiry)
    this.#at = 5
    this.#text(CONTENT_TYPE, contentType)
    this.#text(RESPONSE_TOPIC, responseTopic)
    this.#reserve(3 + correlationData.length)
    this.#block[this.#at] = CORRELATION_DATA
    this.#at = putUint16(this.#block, this.#at + 1, correlationData.length)
    this.#block.set(correlationData, this.#at)
    this.#at += correlationData.length
    for (const name of Object.keys(userProperties)) {
      this.#text(USER_PROPERTY, name)
      this.#text(undefined, userProperties[name] ?? '')
    }
    return this.#block.subarray(0, this.#at)
  }

  #text(identifier: number | undefined, text: string): void {
    // One UTF-16 unit becomes three bytes of UTF-8 at most.
    this.#reserve(3 + 3 * text.length)
    if (identifier !== undefined) this.#block[this.#at++] = identifier
    const { written } = encoder.encodeInto(text, this.#block.subarray(this.#at + 2))
    this.#at = putUint16(this.#block, this.#at, written) + written
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#block.length) return
    const larger = new Uint8Array(2 * needed)
    larger.set(this.#block)
    this.#block = larger
  }
}

function putUint16(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value >> 8
  bytes[at + 1] = value
  return at + 2
}

/** Variable byte integer (MQTT 5.0, section 1.5.5). */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let place = at
  let rest = value
  while (rest > 127) {
    bytes[place++] = (rest & 127) | 128
    rest >>>= 7
  }
  bytes[place++] = rest
  return place
}

function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++
  return size
}
