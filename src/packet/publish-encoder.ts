import { ArgumentError } from '../base/errors.js'
import { FLAG, LARGEST_VARINT, putUint16, putVarint, sizeOfVarint } from './layout.js'
import * as PACKET from './packet-types.js'
import * as PROPERTY from './property-ids.js'
import type { Content, Envelope, PropertiesByName, Publish } from './publish.js'
import { Writer } from './writer.js'

/** Gives memory for so many bytes; all of them are written. */
export type Room = (bytes: number) => Uint8Array

const ownMemory: Room = bytes => new Uint8Array(bytes)

const NO_IDS: readonly number[] = Object.freeze([])
/** Up to here a loop is faster than a view and its copy, bytes. */
const LONGEST_LOOP = 64
const EXPIRY_SIZE = 5
const ALIAS_SIZE = 3

/**
 * Writes PUBLISH packets (MQTT 5.0, section 3.3). mqtt-packet, which mqtt.js uses, writes each in some thirty pieces, which
 * is a third of a busy process's time; here a packet is one piece. What has no place in a packet (a text of more than 65,535
 * bytes, a packet of more than 256 MiB) is an {@link ArgumentError}.
 *
 * @example
 * ```ts
 * const packet = new PublishEncoder().encode(request, 7)
 * ```
 */
export class PublishEncoder {
  /** The properties of {@link #content}, then the topic. */
  readonly #block = new Writer(1_024)
  #propertiesEnd = 0
  #content: Content | undefined
  #topic: string | undefined
  readonly #common = new WeakMap<PropertiesByName, Uint8Array>()

  /**
   * The whole packet for MQTT 5, neither repeated nor retained; `packetId` is 1 to 65,535 for QoS 1, and 0 stands for QoS 0.
   *
   * @param room - gives the memory for it, as many bytes as it is told; default memory of its own
   */
  encode(publish: Publish, packetId: number, room: Room = ownMemory): Uint8Array {
    return this.encodeTo(publish.topic, publish, envelopeOf(packetId), room)
  }

  /**
   * The whole packet for one of many receivers of a content: what is common is encoded once, if they come one after another.
   *
   * @example
   * ```ts
   * const envelope = { ...envelopeOf(packetId), retain: true }
   * encoder.encodeTo('sensors/1', content, envelope, bytes => outflow.room(bytes))
   * ```
   */
  encodeTo(topic: string, content: Content, envelope: Envelope, room: Room): Uint8Array {
    const packet = this.#encode(topic, content, envelope, room, content.payload.length)
    packet.set(content.payload, packet.length - content.payload.length)
    return packet
  }

  /** All of the packet but the payload, which has to follow it. */
  encodeHead(topic: string, content: Content, envelope: Envelope, room: Room): Uint8Array {
    return this.#encode(topic, content, envelope, room, 0)
  }

  /** Size of the whole packet, bytes. */
  sizeOf(topic: string, content: Content, envelope: Envelope): number {
    this.#prepare(topic, content)
    const remaining = this.#remaining(content, envelope, this.#propertiesSize(content, envelope))
    return 1 + sizeOfVarint(remaining) + remaining
  }

  #encode(topic: string, content: Content, envelope: Envelope, room: Room, payloadRoom: number): Uint8Array {
    this.#prepare(topic, content)
    const { packetId, version } = envelope
    const properties = this.#propertiesSize(content, envelope)
    const remaining = this.#remaining(content, envelope, properties)
    if (remaining > LARGEST_VARINT)
      throw new ArgumentError(`A PUBLISH of ${remaining} bytes is larger than MQTT allows`)
    const packet = room(1 + sizeOfVarint(remaining) + remaining - content.payload.length + payloadRoom)
    packet[0] = firstByteOf(envelope)
    let at = this.#copy(this.#propertiesEnd, this.#block.at, packet, putVarint(packet, 1, remaining))
    if (packetId !== 0) at = putUint16(packet, at, packetId)
    if (version === 5) this.#putProperties(packet, putVarint(packet, at, properties), content, envelope)
    return packet
  }

  #prepare(topic: string, content: Content): void {
    if (content !== this.#content) this.#properties(content)
    if (topic !== this.#topic) this.#putTopic(topic)
  }

  #propertiesSize(content: Content, { messageExpiry, topicAlias, subscriptionIds }: Envelope): number {
    let size = this.#propertiesEnd
    if ((messageExpiry ?? content.messageExpiry) !== undefined) size += EXPIRY_SIZE
    if (topicAlias !== undefined) size += ALIAS_SIZE
    if (subscriptionIds.length > 0) for (const id of subscriptionIds) size += 1 + sizeOfVarint(id)
    return size
  }

  /** Everything after type and length. */
  #remaining(content: Content, { packetId, version }: Envelope, properties: number): number {
    const topic = this.#block.at - this.#propertiesEnd
    const id = packetId === 0 ? 0 : 2
    return topic + id + (version === 4 ? 0 : sizeOfVarint(properties) + properties) + content.payload.length
  }

  #putProperties(packet: Uint8Array, start: number, content: Content, envelope: Envelope): void {
    const { topicAlias, subscriptionIds, messageExpiry = content.messageExpiry } = envelope
    let at = start
    if (messageExpiry !== undefined) {
      packet[at] = PROPERTY.messageExpiry
      at = putUint16(packet, putUint16(packet, at + 1, messageExpiry >>> 16), messageExpiry & 0xffff)
    }
    if (topicAlias !== undefined) {
      packet[at] = PROPERTY.topicAlias
      at = putUint16(packet, at + 1, topicAlias)
    }
    if (subscriptionIds.length > 0)
      for (const id of subscriptionIds) {
        packet[at] = PROPERTY.subscriptionId
        at = putVarint(packet, at + 1, id)
      }
    this.#copy(0, this.#propertiesEnd, packet, at)
  }

  #copy(from: number, to: number, packet: Uint8Array, at: number): number {
    const { bytes } = this.#block
    if (to - from > LONGEST_LOOP) packet.set(bytes.subarray(from, to), at)
    else for (let i = from; i < to; i++) packet[at + i - from] = bytes[i] ?? 0
    return at + to - from
  }

  #putTopic(topic: string): void {
    this.#topic = undefined
    this.#block.at = this.#propertiesEnd
    this.#block.text(topic)
    this.#topic = topic
  }

  /** Those that are the same for all receivers. */
  #properties(content: Content): void {
    this.#content = undefined
    this.#topic = undefined
    this.#block.at = 0
    if (content.carried !== undefined) this.#block.raw(content.carried)
    else this.#named(content)
    this.#propertiesEnd = this.#block.at
    this.#content = content
  }

  #named({ contentType, responseTopic, correlationData, userProperties, commonProperties }: Content): void {
    const block = this.#block
    if (contentType !== undefined) this.#labelled(PROPERTY.contentType, contentType)
    if (responseTopic !== undefined) this.#labelled(PROPERTY.responseTopic, responseTopic)
    if (correlationData !== undefined) {
      block.byte(PROPERTY.correlationData)
      block.binary(correlationData)
    }
    this.#userProperties(userProperties)
    if (commonProperties !== undefined) this.#commonProperties(commonProperties)
  }

  #userProperties(properties: PropertiesByName): void {
    for (const name of Object.keys(properties)) {
      const value = properties[name] ?? ''
      if (typeof value === 'string') this.#userProperty(name, value)
      else for (const one of value) this.#userProperty(name, one)
    }
  }

  #userProperty(name: string, value: string): void {
    this.#labelled(PROPERTY.userProperties, name)
    this.#block.text(value)
  }

  #commonProperties(properties: PropertiesByName): void {
    const known = this.#common.get(properties)
    if (known !== undefined) {
      this.#block.raw(known)
      return
    }
    const from = this.#block.at
    this.#userProperties(properties)
    this.#common.set(properties, this.#block.bytes.slice(from, this.#block.at))
  }

  #labelled(identifier: number, text: string): void {
    this.#block.byte(identifier)
    this.#block.text(text)
  }
}

/** What an ordinary receiver of MQTT 5 gets: nothing but the content; QoS 1, or 0 with packet id 0. */
export const envelopeOf = (packetId: number): Envelope => ({
  packetId,
  qos: packetId === 0 ? 0 : 1,
  dup: false,
  retain: false,
  messageExpiry: undefined,
  subscriptionIds: NO_IDS,
  topicAlias: undefined,
  version: 5,
})

const firstByteOf = ({ qos, dup, retain }: Envelope): number =>
  (PACKET.publish << 4) | (qos << 1) | (dup ? FLAG.dup : 0) | (retain ? FLAG.retain : 0)
