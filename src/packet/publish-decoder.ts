import { fromUtf8 } from '../bytes.js'
import { PayloadError } from '../errors.js'
import { endOfPacket, FLAG, LONGEST_HEADER, PUBLISH_PROPERTY, startOfContent, uint16 } from './layout.js'
import type { InboundPublish } from './publish.js'

type UserProperties = Record<string, string | readonly string[]>

interface Properties {
  contentType?: string
  responseTopic?: string
  correlationData?: Uint8Array
  messageExpiry?: number
  payloadFormat?: number
  readonly userProperties: UserProperties
}

/** Longer texts are not likely to come again, unless they are topics; a power of two of slots. */
const LONGEST_KNOWN = 24
const LONGEST_KNOWN_TOPIC = 256
const SLOTS = 64

/**
 * Reads MQTT 5 PUBLISH packets with QoS 0 or 1 (MQTT 5.0, section 3.3), for one connection. What it does not know or what
 * is malformed is `undefined`: topic aliases, subscription identifiers, QoS 2; somebody else can read it or complain.
 *
 * @example
 * ```ts
 * const publish = new PublishDecoder().decode(frame)
 * ```
 */
export class PublishDecoder {
  /** Texts of ASCII that came before: names of properties and topics come with every packet. */
  readonly #known = new Array<string | undefined>(SLOTS).fill(undefined)
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  #end = 0

  /** @param frame - one whole packet of type PUBLISH */
  decode(frame: Uint8Array): InboundPublish | undefined {
    try {
      return this.#decode(frame)
    } catch (error) {
      if (error instanceof PayloadError) return undefined
      throw error
    }
  }

  #decode(frame: Uint8Array): InboundPublish | undefined {
    const flags = frame[0] ?? 0
    const qos = flags & FLAG.qos
    if (qos > FLAG.qos1 || endOfPacket(frame, 0) !== frame.length) return undefined
    this.#bytes = frame
    this.#end = frame.length
    this.#at = startOfContent(frame)
    const topic = this.#text(LONGEST_KNOWN_TOPIC)
    const packetId = qos === 0 ? 0 : this.#uint16()
    if (topic === '' || (qos !== 0 && packetId === 0)) return undefined
    const properties = this.#properties()
    if (properties === undefined) return undefined
    const { contentType, responseTopic, correlationData, messageExpiry, userProperties } = properties
    return {
      topic,
      packetId,
      qos: qos === 0 ? 0 : 1,
      dup: (flags & FLAG.dup) !== 0,
      retain: (flags & FLAG.retain) !== 0,
      contentType,
      responseTopic,
      correlationData,
      messageExpiry,
      userProperties,
      payload: frame.subarray(this.#at),
    }
  }

  #properties(): Properties | undefined {
    const properties: Properties = { userProperties: {} }
    const length = this.#varint()
    this.#end = this.#at + length
    if (this.#end > this.#bytes.length) return undefined
    while (this.#at < this.#end) if (!this.#property(this.#byte(), properties)) return undefined
    return properties
  }

  /** Whether it is one we know, and came once. */
  #property(identifier: number, properties: Properties): boolean {
    switch (identifier) {
      case PUBLISH_PROPERTY.userProperty:
        return add(properties.userProperties, this.#text(LONGEST_KNOWN), this.#text(LONGEST_KNOWN))
      case PUBLISH_PROPERTY.correlationData:
        if (properties.correlationData !== undefined) return false
        properties.correlationData = this.#binary()
        return true
      case PUBLISH_PROPERTY.contentType:
        if (properties.contentType !== undefined) return false
        properties.contentType = this.#text(LONGEST_KNOWN)
        return true
      case PUBLISH_PROPERTY.responseTopic:
        if (properties.responseTopic !== undefined) return false
        properties.responseTopic = this.#text(LONGEST_KNOWN_TOPIC)
        return true
      case PUBLISH_PROPERTY.messageExpiry:
        if (properties.messageExpiry !== undefined) return false
        properties.messageExpiry = this.#uint16() * 0x1_0000 + this.#uint16()
        return true
      case PUBLISH_PROPERTY.payloadFormat:
        if (properties.payloadFormat !== undefined) return false
        properties.payloadFormat = this.#byte()
        return properties.payloadFormat <= 1
      default:
        return false
    }
  }

  #take(length: number): number {
    const at = this.#at
    if (at + length > this.#end) throw new PayloadError('A PUBLISH ends within a field')
    this.#at = at + length
    return at
  }

  #byte(): number {
    return this.#bytes[this.#take(1)] ?? 0
  }

  #uint16(): number {
    return uint16(this.#bytes, this.#take(2))
  }

  #varint(): number {
    let value = 0
    for (let i = 1; i < LONGEST_HEADER; i++) {
      const byte = this.#byte()
      value |= (byte & 127) << (7 * (i - 1))
      if (byte < 128) return value
    }
    throw new PayloadError('A variable byte integer has more than four bytes')
  }

  #binary(): Uint8Array {
    const length = this.#uint16()
    const at = this.#take(length)
    return this.#bytes.subarray(at, at + length)
  }

  #text(longestKnown: number): string {
    const length = this.#uint16()
    const at = this.#take(length)
    if (length === 0) return ''
    if (length > longestKnown) return fromUtf8(this.#bytes.subarray(at, at + length))
    const slot = (length * 31 + this.#byteAt(at + length - 1) * 7 + this.#byteAt(at + (length >> 1))) & (SLOTS - 1)
    const known = this.#known[slot]
    if (known?.length === length && this.#spells(known, at)) return known
    const text = fromUtf8(this.#bytes.subarray(at, at + length))
    // Of ASCII alone as many bytes as characters.
    if (text.length === length) this.#known[slot] = text
    return text
  }

  #byteAt(at: number): number {
    return this.#bytes[at] ?? 0
  }

  #spells(ascii: string, at: number): boolean {
    for (let i = 0; i < ascii.length; i++) if (ascii.charCodeAt(i) !== this.#bytes[at + i]) return false
    return true
  }
}

/** MQTT 5.0, section 3.3.2.3.7: a name may come more than once. */
function add(properties: UserProperties, name: string, value: string): boolean {
  // It would become the prototype.
  if (name === '__proto__') return false
  const before = Object.hasOwn(properties, name) ? properties[name] : undefined
  properties[name] = before === undefined ? value : typeof before === 'string' ? [before, value] : [...before, value]
  return true
}
