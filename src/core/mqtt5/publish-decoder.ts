import { type Check, contentOf, FLAG, MOST_USER_PROPERTIES, Reader, textOf, viewOf } from './data-types.js'
import { malformed, PacketError, protocolError } from './packet-error.js'
import * as PACKET from './packet-types.js'
import type { InboundPublish, Version } from './packets.js'
import * as PROPERTY from './properties.js'
import {
  addUserProperty,
  checkUserProperties,
  ForwardedProperties,
  type Named,
  NO_USER_PROPERTIES,
  newUserProperties,
} from './properties.js'
import * as REASON from './reason-codes.js'
import { checkTopicName } from './topic.js'

/** Longer strings are unlikely to repeat, unless they are topics. */
const LONGEST_KNOWN = 24
const LONGEST_KNOWN_TOPIC = 256

const NOTHING = new Uint8Array(0)
const NO_IDS: readonly number[] = Object.freeze([])

type Draft = { -readonly [K in keyof InboundPublish]: InboundPublish[K] }

export interface PublishDecoderOptions {
  /** Version of the connection; default 5. */
  readonly version?: Version
  /** The peer; only a server sends subscription identifiers. Default `client`. */
  readonly sender?: 'client' | 'server'
  /** A topic whose messages are not forwarded; `carried` stays empty. */
  readonly endTopic?: string | undefined
  /** Maximum user properties per packet; default 1,000. */
  readonly mostUserProperties?: number
}

/**
 * Decodes PUBLISH packets of one connection (MQTT 5.0, section 3.3). Byte strings are views of the packet.
 *
 * @example
 * ```ts
 * const publish = new PublishDecoder().decode(frame)
 * ```
 */
export class PublishDecoder {
  readonly #version: Version
  readonly #sender: 'client' | 'server'
  readonly #endTopic: string | undefined
  readonly #reader = new Reader()
  readonly #texts = new StringCache(LONGEST_KNOWN)
  readonly #topics = new StringCache(LONGEST_KNOWN_TOPIC)
  readonly #forwardedProperties = new ForwardedProperties()
  #payloadFormat: number | undefined
  #userProperties: Named | undefined
  #names = 0
  #subscriptionIds: number[] | undefined

  constructor({
    version = 5,
    sender = 'client',
    endTopic,
    mostUserProperties = MOST_USER_PROPERTIES,
  }: PublishDecoderOptions = {}) {
    this.#reader.mostUserProperties = mostUserProperties
    this.#endTopic = endTopic
    this.#version = version
    this.#sender = sender
  }

  /**
   * Decodes one whole PUBLISH. Aliases are not resolved: the topic may be empty.
   *
   * @throws PacketError with the reason code for the sender
   */
  decode(frame: Uint8Array): InboundPublish {
    const first = frame[0] ?? 0
    const qos = qosOf(first)
    const reader = this.#reader
    reader.bytes = frame
    reader.end = frame.length
    reader.at = contentOf(frame, this.#version)
    const topic = this.#topic()
    const packetId = qos === 0 ? 0 : reader.uint16()
    if (qos !== 0 && packetId === 0) throw protocolError('The packet identifier is 0')
    const draft: Draft = {
      topic,
      packetId,
      qos,
      dup: (first & FLAG.dup) !== 0,
      retain: (first & FLAG.retain) !== 0,
      contentType: undefined,
      responseTopic: undefined,
      correlationData: undefined,
      messageExpiry: undefined,
      topicAlias: undefined,
      subscriptionIds: NO_IDS,
      userProperties: NO_USER_PROPERTIES,
      carried: NOTHING,
      payload: frame,
    }
    if (this.#version === 5) this.#properties(draft)
    draft.payload = viewOf(frame, reader.at, frame.length)
    if (topic === '' && draft.topicAlias === undefined) checkTopicName(topic)
    return draft
  }

  #properties(draft: Draft): void {
    const reader = this.#reader
    const length = reader.varint()
    if (length === 0) return
    const end = reader.at + length
    if (end > reader.end) throw malformed('The properties run past the end of their packet')
    reader.end = end
    this.#payloadFormat = undefined
    this.#subscriptionIds = undefined
    this.#userProperties = undefined
    this.#names = 0
    this.#forwardedProperties.begin(reader.at)
    while (reader.at < end) this.#property(draft)
    if (this.#sender === 'client' && draft.topic !== this.#endTopic)
      draft.carried = this.#forwardedProperties.of(reader.bytes, end)
    if (this.#subscriptionIds !== undefined) draft.subscriptionIds = this.#subscriptionIds
    if (this.#userProperties !== undefined) draft.userProperties = this.#userProperties
  }

  #property(draft: Draft): void {
    const reader = this.#reader
    const from = reader.at
    const identifier = reader.byte()
    switch (identifier) {
      case PROPERTY.userProperties:
        this.#userProperties ??= newUserProperties()
        checkUserProperties(++this.#names, this.#reader.mostUserProperties)
        addUserProperty(this.#userProperties, this.#text(), this.#text())
        return
      case PROPERTY.correlationData:
        once(draft.correlationData)
        draft.correlationData = reader.binary()
        return
      case PROPERTY.contentType:
        once(draft.contentType)
        draft.contentType = this.#text()
        return
      case PROPERTY.responseTopic:
        once(draft.responseTopic)
        draft.responseTopic = this.#topic()
        if (draft.responseTopic === '') checkTopicName('')
        return
      case PROPERTY.messageExpiry:
        once(draft.messageExpiry)
        draft.messageExpiry = reader.uint32()
        this.#forwardedProperties.skip(from, reader.at)
        return
      case PROPERTY.payloadFormat:
        once(this.#payloadFormat)
        this.#payloadFormat = reader.byte()
        if (this.#payloadFormat > 1) throw protocolError('The payload format indicator is neither 0 nor 1')
        return
      case PROPERTY.topicAlias:
        once(draft.topicAlias)
        draft.topicAlias = reader.uint16()
        if (draft.topicAlias === 0) throw new PacketError(REASON.topicAliasInvalid, 'The topic alias is 0')
        this.#forwardedProperties.skip(from, reader.at)
        return
      case PROPERTY.subscriptionId:
        this.#subscriptionIds ??= []
        this.#subscriptionIds.push(this.#subscriptionId())
        this.#forwardedProperties.skip(from, reader.at)
        return
      default:
        throw malformed(`Property ${identifier} is not allowed in PUBLISH`)
    }
  }

  /** MQTT 5.0, section 3.3.4: a client must not send any. */
  #subscriptionId(): number {
    if (this.#sender === 'client') throw protocolError('A client must not send a subscription identifier')
    const id = this.#reader.varint()
    if (id === 0) throw protocolError('The subscription identifier is 0')
    return id
  }

  #text(): string {
    const reader = this.#reader
    const length = reader.uint16()
    return this.#texts.textOf(reader.bytes, reader.take(length), length)
  }

  /** Cached topics are not checked again. With an alias, the topic may be empty. */
  #topic(): string {
    const length = this.#reader.uint16()
    return length === 0
      ? ''
      : this.#topics.textOf(this.#reader.bytes, this.#reader.take(length), length, checkTopicName)
  }
}

function qosOf(first: number): 0 | 1 | 2 {
  if (first >> 4 !== PACKET.publish) throw malformed('The packet is not a PUBLISH')
  const qos = (first & FLAG.qos) >> 1
  if (qos === 3) throw malformed('The QoS is 3')
  if (qos === 0 && (first & FLAG.dup) !== 0) throw malformed('DUP is set with QoS 0')
  return qos === 0 ? 0 : qos === 1 ? 1 : 2
}

function once(before: unknown): void {
  if (before !== undefined) throw protocolError('A property is repeated')
}

/** A string, and the offset of its bytes. */
interface Known {
  readonly text: string
  readonly start: number
}

const SLOTS = 32
/** Capacity in bytes; when exceeded, the cache is cleared. */
const MOST_BYTES = 1_024

/**
 * Recent ASCII strings of one connection: property names and topics repeat with every packet. Comparing bytes takes
 * less than half the time of comparing them with a string.
 */
export class StringCache {
  readonly #longest: number
  readonly #known: (Known | undefined)[] = []
  readonly #bytes = new Uint8Array(MOST_BYTES)
  #end = 0

  /** @param longest - maximum length cached, bytes; at most 1,024 */
  constructor(longest: number) {
    this.#longest = longest
  }

  /** Like the function {@link textOf}; cached strings are not checked again. */
  textOf(bytes: Uint8Array, at: number, length: number, check?: Check): string {
    const slot = slotOf(bytes, at, length)
    const known = this.#find(slot, bytes, at, length) ?? this.#find(slot ^ 1, bytes, at, length)
    if (known) return known.text
    const text = textOf(bytes, at, length)
    check?.(text)
    // Only ASCII has as many bytes as characters.
    if (text.length === length && length <= this.#longest) this.#remember(slot, text, bytes, at)
    return text
  }

  #find(slot: number, bytes: Uint8Array, at: number, length: number): Known | undefined {
    const known = this.#known[slot]
    const fits = known?.text.length === length && areSame(this.#bytes, known.start, bytes, at, length)
    return fits ? known : undefined
  }

  /** Keeps the previous entry of the slot as well: otherwise two strings with the same slot would evict each other. */
  #remember(slot: number, text: string, bytes: Uint8Array, at: number): void {
    if (this.#end + text.length > MOST_BYTES) {
      this.#known.length = 0
      this.#end = 0
    }
    this.#known[slot ^ 1] = this.#known[slot]
    this.#known[slot] = { text, start: this.#end }
    this.#bytes.set(bytes.subarray(at, at + text.length), this.#end)
    this.#end += text.length
  }
}

/** Samples positions where strings usually differ: the middle and the end, and every other digit of Base16. */
function slotOf(bytes: Uint8Array, at: number, length: number): number {
  const last = at + length - 1
  const sum = length * 31 + (bytes[last] ?? 0) * 7 + (bytes[last - 2] ?? 0) * 19 + (bytes[at + (length >> 1)] ?? 0)
  return sum & (SLOTS - 1)
}

function areSame(a: Uint8Array, from: number, b: Uint8Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[from + i] !== b[at + i]) return false
  return true
}
