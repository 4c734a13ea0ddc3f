import { ArgumentError } from '../util/errors.js'
import { FLAG, MAX_VARINT, MqttWriter, putUint16, putVarint, sizeOfVarint, viewOf } from './data-types.js'
import * as PACKET from './packet-types.js'
import type { Content, Envelope, PropertiesByName } from './packets.js'
import * as PROPERTY from './properties.js'

/** Memory for encoded packets. A view for each packet would cost more than encoding it. */
export interface WriteBuffer {
  readonly block: Uint8Array
  /** Allocates bytes, which the caller writes synchronously. Returns their offset in the block. */
  allocate(bytes: number): number
}

interface SharedProperties {
  readonly contentType: string | undefined
  readonly encoded: Uint8Array
}

const NO_BYTES: Uint8Array = new Uint8Array(0)
const NO_IDS: readonly number[] = Object.freeze([])
/** Size up to which a loop is faster than creating a view and copying, bytes. */
const MAX_LOOP_BYTES = 64
const EXPIRY_SIZE = 5
const ALIAS_SIZE = 3

/**
 * Encodes PUBLISH packets (MQTT 5.0, section 3.3). mqtt-packet, which mqtt.js uses, writes each packet in about thirty
 * pieces, which takes a third of a busy process's time. Here a packet is one piece. Throws {@link ArgumentError} if a
 * packet cannot be encoded (a string of more than 65,535 bytes, a packet of more than 256 MiB).
 *
 * @example
 * ```ts
 * new PublishEncoder().encodeTo('sensors/1', content, envelopeOf(7), room)
 * ```
 */
export class PublishEncoder {
  /** Encoded properties of {@link #content} that are not in {@link #common}. */
  readonly #block = new MqttWriter(1_024)
  #common = NO_BYTES
  #content: Content | undefined
  #size = 0
  readonly #topicBlock = new MqttWriter(256)
  #topic: string | undefined
  readonly #sharedProperties = new WeakMap<PropertiesByName, SharedProperties>()

  /**
   * Encodes the whole packet for one receiver. Shared parts are encoded once for consecutive receivers of a content.
   *
   * @example
   * ```ts
   * const envelope = { ...envelopeOf(packetId), retain: true }
   * encoder.encodeTo('sensors/1', content, envelope, outflow)
   * ```
   * @param apart - whether to omit the payload, which the caller then writes after the packet; default false
   */
  encodeTo(topic: string, content: Content, envelope: Envelope, room: WriteBuffer, apart = false): void {
    const remaining = this.#remainingLength(topic, content, envelope)
    const { packetId, version } = envelope
    const { payload } = content
    if (remaining > MAX_VARINT) throw new ArgumentError(`A PUBLISH of ${remaining} bytes is larger than MQTT allows`)
    const start = room.allocate(1 + sizeOfVarint(remaining) + remaining - (apart ? payload.length : 0))
    const bytes = room.block
    bytes[start] = firstByteOf(envelope)
    let at = putVarint(bytes, start + 1, remaining)
    at = copyTo(this.#topicBlock.bytes, this.#topicBlock.at, bytes, at)
    if (packetId !== 0) at = putUint16(bytes, at, packetId)
    if (version === 5) at = this.#putProperties(bytes, putVarint(bytes, at, this.#size), content, envelope)
    if (!apart) copyTo(payload, payload.length, bytes, at)
    // A response has only one receiver, so its content is not kept. The content may be a view of the data that was read
    // with the request.
    if (content.correlationData !== undefined) this.#content = undefined
  }

  sizeOf(topic: string, content: Content, envelope: Envelope): number {
    const remaining = this.#remainingLength(topic, content, envelope)
    return 1 + sizeOfVarint(remaining) + remaining
  }

  #remainingLength(topic: string, content: Content, envelope: Envelope): number {
    if (content !== this.#content) this.#encodeProperties(content)
    if (topic !== this.#topic) this.#putTopic(topic)
    this.#size = this.#propertiesSize(content, envelope)
    const id = envelope.packetId === 0 ? 0 : 2
    const properties = envelope.version === 4 ? 0 : sizeOfVarint(this.#size) + this.#size
    return this.#topicBlock.at + id + properties + content.payload.length
  }

  #propertiesSize(content: Content, { messageExpiry, topicAlias, subscriptionIds }: Envelope): number {
    let size = this.#block.at + this.#common.length
    if ((messageExpiry ?? content.messageExpiry) !== undefined) size += EXPIRY_SIZE
    if (topicAlias !== undefined) size += ALIAS_SIZE
    if (subscriptionIds.length > 0) for (const id of subscriptionIds) size += 1 + sizeOfVarint(id)
    return size
  }

  #putProperties(packet: Uint8Array, start: number, content: Content, envelope: Envelope): number {
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
    at = copyTo(this.#block.bytes, this.#block.at, packet, at)
    return copyTo(this.#common, this.#common.length, packet, at)
  }

  #putTopic(topic: string): void {
    this.#topic = undefined
    this.#topicBlock.at = 0
    this.#topicBlock.text(topic)
    this.#topic = topic
  }

  #encodeProperties(content: Content): void {
    this.#content = undefined
    this.#block.at = 0
    this.#common = NO_BYTES
    if (content.carried !== undefined) this.#block.raw(content.carried)
    else this.#encodeNamed(content)
    this.#content = content
  }

  #encodeNamed({ contentType, responseTopic, correlationData, userProperties, commonProperties }: Content): void {
    const block = this.#block
    if (commonProperties !== undefined) this.#common = this.#encodeCommon(contentType, commonProperties)
    else if (contentType !== undefined) this.#encodeText(PROPERTY.contentType, contentType)
    if (responseTopic !== undefined) this.#encodeText(PROPERTY.responseTopic, responseTopic)
    if (correlationData !== undefined) {
      block.byte(PROPERTY.correlationData)
      block.binary(correlationData)
    }
    this.#encodeUserProperties(userProperties)
  }

  #encodeUserProperties(properties: PropertiesByName): void {
    for (const name of Object.keys(properties)) {
      const value = properties[name] ?? ''
      if (typeof value === 'string') this.#encodeUserProperty(name, value)
      else for (const one of value) this.#encodeUserProperty(name, one)
    }
  }

  #encodeUserProperty(name: string, value: string): void {
    this.#encodeText(PROPERTY.userProperties, name)
    this.#block.text(value)
  }

  /**
   * Encodes the properties that contents share. Contents with the same properties usually have the same content type.
   */
  #encodeCommon(contentType: string | undefined, properties: PropertiesByName): Uint8Array {
    const shared = this.#sharedProperties.get(properties)
    if (shared !== undefined && shared.contentType === contentType) return shared.encoded
    if (contentType !== undefined) this.#encodeText(PROPERTY.contentType, contentType)
    this.#encodeUserProperties(properties)
    const encoded = this.#block.bytes.slice(0, this.#block.at)
    this.#block.at = 0
    this.#sharedProperties.set(properties, { contentType, encoded })
    return encoded
  }

  #encodeText(identifier: number, text: string): void {
    this.#block.byte(identifier)
    this.#block.text(text)
  }
}

/** Returns the options of an ordinary MQTT 5 receiver: QoS 1, or QoS 0 with packet id 0. */
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

function copyTo(bytes: Uint8Array, length: number, to: Uint8Array, at: number): number {
  if (length <= MAX_LOOP_BYTES) for (let i = 0; i < length; i++) to[at + i] = bytes[i] ?? 0
  else to.set(length === bytes.length ? bytes : viewOf(bytes, 0, length), at)
  return at + length
}

const firstByteOf = ({ qos, dup, retain }: Envelope): number =>
  (PACKET.publish << 4) | (qos << 1) | (dup ? FLAG.dup : 0) | (retain ? FLAG.retain : 0)
