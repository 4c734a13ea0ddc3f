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

/** Longer texts are not likely to come again, unless they are topics. */
const LONGEST_KNOWN = 24
const LONGEST_KNOWN_TOPIC = 256

const NOTHING = new Uint8Array(0)
const NO_IDS: readonly number[] = Object.freeze([])

/** A message as it is put together. */
type Draft = { -readonly [K in keyof InboundPublish]: InboundPublish[K] }

/** How PUBLISH packets are read. */
export interface PublishDecoderOptions {
  /** Of the connection; default 5. */
  readonly version?: Version
  /** Who writes the packets; only a server sends subscription identifiers. Default `client`. */
  readonly sender?: 'client' | 'server'
  /** A topic whose messages are not passed on: they carry nothing. */
  readonly endTopic?: string | undefined
  /** More user properties in one packet are refused; default 1,000. */
  readonly mostUserProperties?: number
}

/**
 * Reads PUBLISH packets (MQTT 5.0, section 3.3), for one connection. Byte strings are views of the packet.
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
  /** User properties so far. */
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
   * Reads one whole packet of type PUBLISH. An alias is not resolved: its topic may be empty.
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
        throw malformed(`A property ${identifier} has no place in PUBLISH`)
    }
  }

  /** MQTT 5.0, section 3.3.4: a client does not send any. */
  #subscriptionId(): number {
    if (this.#sender === 'client') throw protocolError('A client sends a subscription identifier')
    const id = this.#reader.varint()
    if (id === 0) throw protocolError('The subscription identifier is 0')
    return id
  }

  #text(): string {
    const reader = this.#reader
    const length = reader.uint16()
    return this.#texts.textOf(reader.bytes, reader.take(length), length)
  }

  /** Checked once, as long as it is known; an alias may stand for an empty one. */
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
  if (before !== undefined) throw protocolError('A property comes more than once')
}

/** A text, and where its bytes begin. */
interface Known {
  readonly text: string
  readonly start: number
}

/** A power of two. */
const SLOTS = 32
/** What is known takes so many bytes; then all of it is forgotten. */
const MOST_BYTES = 1_024

/**
 * Texts of ASCII that came before, for one connection: names of properties and topics come with every packet. They are
 * compared as bytes, which takes less than half the time it takes to compare them with a text.
 */
export class StringCache {
  readonly #longest: number
  readonly #known: (Known | undefined)[] = []
  readonly #bytes = new Uint8Array(MOST_BYTES)
  #end = 0

  /** @param longest - longer texts are not likely to come again, bytes; at most 1,024 */
  constructor(longest: number) {
    this.#longest = longest
  }

  /** As the function {@link textOf}, and checked unless it is known. */
  textOf(bytes: Uint8Array, at: number, length: number, check?: Check): string {
    const slot = slotOf(bytes, at, length)
    const known = this.#find(slot, bytes, at, length) ?? this.#find(slot ^ 1, bytes, at, length)
    if (known) return known.text
    const text = textOf(bytes, at, length)
    check?.(text)
    // Of ASCII alone as many bytes as characters.
    if (text.length === length && length <= this.#longest) this.#remember(slot, text, bytes, at)
    return text
  }

  #find(slot: number, bytes: Uint8Array, at: number, length: number): Known | undefined {
    const known = this.#known[slot]
    const fits = known?.text.length === length && areSame(this.#bytes, known.start, bytes, at, length)
    return fits ? known : undefined
  }

  /** Two that belong to the same place are both known, or each would have to be read anew when the other has come. */
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

/** Texts that differ mostly do so in the middle or at the end, every other digit of what is in Base16. */
function slotOf(bytes: Uint8Array, at: number, length: number): number {
  const last = at + length - 1
  const sum = length * 31 + (bytes[last] ?? 0) * 7 + (bytes[last - 2] ?? 0) * 19 + (bytes[at + (length >> 1)] ?? 0)
  return sum & (SLOTS - 1)
}

function areSame(a: Uint8Array, from: number, b: Uint8Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[from + i] !== b[at + i]) return false
  return true
}
