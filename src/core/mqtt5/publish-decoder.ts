import {
  checkedContentStart,
  FLAG,
  MAX_USER_PROPERTIES,
  MqttReader,
  type TextCheck,
  textOf,
  viewOf,
} from './data-types.js'
import { malformed, PacketError, protocolError } from './packet-error.js'
import * as PACKET from './packet-types.js'
import type { InboundPublish, Version } from './packets.js'
import * as PROPERTY from './properties.js'
import {
  addUserProperty,
  checkUserProperties,
  ForwardedProperties,
  type MutableProperties,
  NO_USER_PROPERTIES,
  newUserProperties,
} from './properties.js'
import * as REASON from './reason-codes.js'
import { checkTopicName } from './topic.js'

/** Maximum lengths of cached strings and topics. Longer strings are unlikely to repeat, unless they are topics. */
const MAX_CACHED_LENGTH = 24
const MAX_CACHED_TOPIC_LENGTH = 256

const NO_BYTES = new Uint8Array(0)
const NO_IDS: readonly number[] = Object.freeze([])

type MutablePublish = { -readonly [K in keyof InboundPublish]: InboundPublish[K] }

export interface PublishDecoderOptions {
  /** Protocol version of the connection. Default 5. */
  readonly version?: Version
  /** The sender of the packets. Only a server sends subscription identifiers. Default `client`. */
  readonly sender?: 'client' | 'server'
  /** A topic whose messages are not forwarded, so that their `carried` stays empty. */
  readonly endTopic?: string | undefined
  /** Maximum number per packet. Default 1,000. */
  readonly maxUserProperties?: number
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
  readonly #reader = new MqttReader()
  readonly #texts = new StringCache(MAX_CACHED_LENGTH)
  readonly #topics = new StringCache(MAX_CACHED_TOPIC_LENGTH)
  readonly #forwardedProperties = new ForwardedProperties()
  #payloadFormat: number | undefined
  #userProperties: MutableProperties | undefined
  #userPropertyCount = 0
  #subscriptionIds: number[] | undefined

  constructor({
    version = 5,
    sender = 'client',
    endTopic,
    maxUserProperties = MAX_USER_PROPERTIES,
  }: PublishDecoderOptions = {}) {
    this.#reader.maxUserProperties = maxUserProperties
    this.#endTopic = endTopic
    this.#version = version
    this.#sender = sender
  }

  /**
   * Decodes one whole PUBLISH. Aliases are not resolved, so the topic may be empty.
   *
   * @throws PacketError with the reason code for the sender
   */
  decode(frame: Uint8Array): InboundPublish {
    const first = frame[0] ?? 0
    const qos = qosOf(first)
    const reader = this.#reader
    reader.bytes = frame
    reader.end = frame.length
    reader.at = checkedContentStart(frame, this.#version)
    const topic = this.#readTopic()
    const packetId = qos === 0 ? 0 : reader.uint16()
    if (qos !== 0 && packetId === 0) throw protocolError('The packet identifier is 0')
    const draft: MutablePublish = {
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
      carried: NO_BYTES,
      payload: frame,
    }
    if (this.#version === 5) this.#readProperties(draft)
    draft.payload = viewOf(frame, reader.at, frame.length)
    if (topic === '' && draft.topicAlias === undefined) checkTopicName(topic)
    return draft
  }

  #readProperties(draft: MutablePublish): void {
    const reader = this.#reader
    const length = reader.varint()
    if (length === 0) return
    const end = reader.at + length
    if (end > reader.end) throw malformed('The properties run past the end of their packet')
    reader.end = end
    this.#payloadFormat = undefined
    this.#subscriptionIds = undefined
    this.#userProperties = undefined
    this.#userPropertyCount = 0
    this.#forwardedProperties.begin(reader.at)
    while (reader.at < end) this.#readProperty(draft)
    if (this.#sender === 'client' && draft.topic !== this.#endTopic)
      draft.carried = this.#forwardedProperties.of(reader.bytes, end)
    if (this.#subscriptionIds !== undefined) draft.subscriptionIds = this.#subscriptionIds
    if (this.#userProperties !== undefined) draft.userProperties = this.#userProperties
  }

  #readProperty(draft: MutablePublish): void {
    const reader = this.#reader
    const from = reader.at
    const identifier = reader.byte()
    switch (identifier) {
      case PROPERTY.userProperties:
        this.#userProperties ??= newUserProperties()
        checkUserProperties(++this.#userPropertyCount, this.#reader.maxUserProperties)
        addUserProperty(this.#userProperties, this.#readText(), this.#readText())
        return
      case PROPERTY.correlationData:
        checkNotRepeated(draft.correlationData)
        draft.correlationData = reader.binary()
        return
      case PROPERTY.contentType:
        checkNotRepeated(draft.contentType)
        draft.contentType = this.#readText()
        return
      case PROPERTY.responseTopic:
        checkNotRepeated(draft.responseTopic)
        draft.responseTopic = this.#readTopic()
        if (draft.responseTopic === '') checkTopicName('')
        return
      case PROPERTY.messageExpiry:
        checkNotRepeated(draft.messageExpiry)
        draft.messageExpiry = reader.uint32()
        this.#forwardedProperties.skip(from, reader.at)
        return
      case PROPERTY.payloadFormat:
        checkNotRepeated(this.#payloadFormat)
        this.#payloadFormat = reader.byte()
        if (this.#payloadFormat > 1) throw protocolError('The payload format indicator is neither 0 nor 1')
        return
      case PROPERTY.topicAlias:
        checkNotRepeated(draft.topicAlias)
        draft.topicAlias = reader.uint16()
        if (draft.topicAlias === 0) throw new PacketError(REASON.topicAliasInvalid, 'The topic alias is 0')
        this.#forwardedProperties.skip(from, reader.at)
        return
      case PROPERTY.subscriptionId:
        this.#subscriptionIds ??= []
        this.#subscriptionIds.push(this.#readSubscriptionId())
        this.#forwardedProperties.skip(from, reader.at)
        return
      default:
        throw malformed(`Property ${identifier} is not allowed in PUBLISH`)
    }
  }

  /** Reads a subscription identifier, which a client must not send (MQTT 5.0, section 3.3.4). */
  #readSubscriptionId(): number {
    if (this.#sender === 'client') throw protocolError('A client must not send a subscription identifier')
    const id = this.#reader.varint()
    if (id === 0) throw protocolError('The subscription identifier is 0')
    return id
  }

  #readText(): string {
    const reader = this.#reader
    const length = reader.uint16()
    return this.#texts.textOf(reader.bytes, reader.advance(length), length)
  }

  /** Reads the topic. Cached topics are not checked again. With an alias, the topic may be empty. */
  #readTopic(): string {
    const length = this.#reader.uint16()
    return length === 0
      ? ''
      : this.#topics.textOf(this.#reader.bytes, this.#reader.advance(length), length, checkTopicName)
  }
}

function qosOf(first: number): 0 | 1 | 2 {
  if (first >> 4 !== PACKET.publish) throw malformed('The packet is not a PUBLISH')
  const qos = (first & FLAG.qos) >> 1
  if (qos === 3) throw malformed('The QoS is 3')
  if (qos === 0 && (first & FLAG.dup) !== 0) throw malformed('DUP is set with QoS 0')
  return qos === 0 ? 0 : qos === 1 ? 1 : 2
}

function checkNotRepeated(before: unknown): void {
  if (before !== undefined) throw protocolError('A property is repeated')
}

interface CachedString {
  readonly text: string
  readonly start: number
}

const SLOT_COUNT = 32
/** Capacity in bytes; the cache is cleared when it is exceeded. */
const MAX_CACHE_BYTES = 1_024

/**
 * Caches the recent ASCII strings of one connection, because property names and topics repeat with every packet.
 * Comparing bytes with bytes takes less than half the time of comparing them with a string.
 */
export class StringCache {
  readonly #maxLength: number
  readonly #slots: (CachedString | undefined)[] = []
  readonly #bytes = new Uint8Array(MAX_CACHE_BYTES)
  #end = 0

  /** @param maxLength - length of the longest strings to cache, bytes; at most 1,024 */
  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** Decodes text like the function {@link textOf}. Cached strings are not checked again. */
  textOf(bytes: Uint8Array, at: number, length: number, check?: TextCheck): string {
    const slot = slotOf(bytes, at, length)
    const cached = this.#find(slot, bytes, at, length) ?? this.#find(slot ^ 1, bytes, at, length)
    if (cached) return cached.text
    const text = textOf(bytes, at, length)
    check?.(text)
    // Only ASCII text has as many bytes as characters.
    if (text.length === length && length <= this.#maxLength) this.#store(slot, text, bytes, at)
    return text
  }

  #find(slot: number, bytes: Uint8Array, at: number, length: number): CachedString | undefined {
    const cached = this.#slots[slot]
    const fits = cached?.text.length === length && areSame(this.#bytes, cached.start, bytes, at, length)
    return fits ? cached : undefined
  }

  /**
   * Keeps the previous entry of the slot as well, because otherwise two strings with the same slot would evict each
   * other.
   */
  #store(slot: number, text: string, bytes: Uint8Array, at: number): void {
    if (this.#end + text.length > MAX_CACHE_BYTES) {
      this.#slots.length = 0
      this.#end = 0
    }
    this.#slots[slot ^ 1] = this.#slots[slot]
    this.#slots[slot] = { text, start: this.#end }
    this.#bytes.set(bytes.subarray(at, at + text.length), this.#end)
    this.#end += text.length
  }
}

/**
 * Returns the cache slot of a string. Samples positions where strings usually differ: the middle, the end, and every
 * other digit of Base16.
 */
function slotOf(bytes: Uint8Array, at: number, length: number): number {
  const last = at + length - 1
  const sum = length * 31 + (bytes[last] ?? 0) * 7 + (bytes[last - 2] ?? 0) * 19 + (bytes[at + (length >> 1)] ?? 0)
  return sum & (SLOT_COUNT - 1)
}

function areSame(a: Uint8Array, from: number, b: Uint8Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[from + i] !== b[at + i]) return false
  return true
}
