import { utf8 } from '../bytes.js'
import { FLAG, PACKET, PUBLISH_PROPERTY, putUint16, putVarint, sizeOfVarint } from './layout.js'
import type { Publish } from './publish.js'

const encoder = new TextEncoder()

const ownMemory = (bytes: number): Uint8Array => new Uint8Array(bytes)

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
  #block = new Uint8Array(1_024)
  #at = 0
  #topic = { text: '', bytes: utf8('') }

  /**
   * The whole packet; `packetId` is 1 to 65,535 for QoS 1, and 0 stands for QoS 0.
   *
   * @param room - gives the memory for it, as many bytes as it is told; default memory of its own
   */
  encode(publish: Publish, packetId: number, room: (bytes: number) => Uint8Array = ownMemory): Uint8Array {
    const properties = this.#properties(publish)
    const topic = this.#topicBytes(publish.topic)
    const { payload } = publish
    const idSize = packetId === 0 ? 0 : 2
    const remaining = 2 + topic.length + idSize + sizeOfVarint(properties.length) + properties.length + payload.length
    const packet = room(1 + sizeOfVarint(remaining) + remaining)
    packet[0] = (PACKET.publish << 4) | (packetId === 0 ? 0 : FLAG.qos1)
    let at = putVarint(packet, 1, remaining)
    at = putUint16(packet, at, topic.length)
    packet.set(topic, at)
    at += topic.length
    if (packetId !== 0) at = putUint16(packet, at, packetId)
    at = putVarint(packet, at, properties.length)
    packet.set(properties, at)
    packet.set(payload, at + properties.length)
    return packet
  }

  /** Most packets of a connection go to the same topic. */
  #topicBytes(topic: string): Uint8Array {
    if (this.#topic.text !== topic) this.#topic = { text: topic, bytes: utf8(topic) }
    return this.#topic.bytes
  }

  /** The properties in a block that the next call overwrites. */
  #properties({ messageExpiry, contentType, responseTopic, correlationData, userProperties }: Publish): Uint8Array {
    this.#at = 0
    if (messageExpiry !== undefined) this.#expiry(messageExpiry)
    if (contentType !== undefined) this.#text(PUBLISH_PROPERTY.contentType, contentType)
    if (responseTopic !== undefined) this.#text(PUBLISH_PROPERTY.responseTopic, responseTopic)
    if (correlationData !== undefined) this.#binary(PUBLISH_PROPERTY.correlationData, correlationData)
    for (const name of Object.keys(userProperties)) {
      this.#text(PUBLISH_PROPERTY.userProperty, name)
      this.#text(undefined, userProperties[name] ?? '')
    }
    return this.#block.subarray(0, this.#at)
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
