import { fromUtf8, putAscii } from '../util/bytes.js'
import { ArgumentError } from '../util/errors.js'
import { malformed } from './packet-error.js'
import * as PACKET from './packet-types.js'
import type { Version } from './packets.js'

/** Bits of the first byte of a PUBLISH (MQTT 5.0, section 3.3.1). */
export const FLAG = { retain: 0b0001, qos: 0b0110, qos1: 0b0010, dup: 0b1000 } as const

/** Fixed header flags of PUBREL, SUBSCRIBE and UNSUBSCRIBE (MQTT 5.0, section 2.1.3). */
export const FIXED_FLAGS = 0b0010

/** Maximum length of a variable byte integer, bytes (MQTT 5.0, section 1.5.5). */
export const MAX_VARINT_BYTES = 4

export const MAX_VARINT = 0xfff_ffff

/** Maximum length of the type and length of a packet, bytes (MQTT 5.0, section 2.1.4). */
export const MAX_HEADER_BYTES = 1 + MAX_VARINT_BYTES

export function putUint16(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value >> 8
  bytes[at + 1] = value
  return at + 2
}

export const uint16 = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)

/** Writes a variable byte integer (MQTT 5.0, section 1.5.5). Returns the offset after the integer. */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let position = at
  let rest = value
  while (rest > 127) {
    bytes[position++] = (rest & 127) | 128
    rest >>>= 7
  }
  bytes[position++] = rest
  return position
}

export function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++
  return size
}

/**
 * Returns the end offset of the packet at `start`: `undefined` if more bytes are needed, `Infinity` for a malformed
 * length.
 */
export function packetEnd(bytes: Uint8Array, start: number): number | undefined {
  let length = 0
  for (let i = 1; i < MAX_HEADER_BYTES; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) return undefined
    length |= (byte & 127) << (7 * (i - 1))
    if (byte < 128) return start + i + 1 + length
  }
  return Number.POSITIVE_INFINITY
}

export function contentStart(frame: Uint8Array): number {
  let at = 1
  while (at < MAX_HEADER_BYTES && (frame[at] ?? 0) > 127) at++
  return at + 1
}

/** Limit below which a packet has a one-byte length. */
const SMALL_PACKET_BYTES = 130

/**
 * Returns the offset of a packet's content. Throws unless the declared length is right and, with MQTT 5, encoded in the
 * minimum number of bytes (MQTT 5.0, section 1.5.5).
 */
export function checkedContentStart(frame: Uint8Array, version: Version): number {
  if (frame[1] === frame.length - 2 && frame.length < SMALL_PACKET_BYTES) return 2
  if (packetEnd(frame, 0) !== frame.length) throw malformed('The length of a packet is wrong')
  const at = contentStart(frame)
  if (version === 5 && at > 2 && frame[at - 1] === 0) throw malformed('The length of a packet is not minimally encoded')
  return at
}

/** Returns a view without copying; faster than `subarray`, and never a Buffer. */
export const viewOf = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset + from, to - from)

export const PUBACK_SIZE = 4

/** Writes a PUBACK with success (MQTT 5.0, section 3.4). */
export function putPuback(bytes: Uint8Array, at: number, packetId: number): void {
  bytes[at] = PACKET.puback << 4
  bytes[at + 1] = 2
  putUint16(bytes, at + 2, packetId)
}

export function encodePuback(packetId: number): Uint8Array {
  const bytes = new Uint8Array(PUBACK_SIZE)
  putPuback(bytes, 0, packetId)
  return bytes
}

export type TextCheck = (text: string) => void

/** Decodes well-formed UTF-8 without U+0000; a byte order mark is kept (MQTT 5.0, section 1.5.4). */
export function textOf(bytes: Uint8Array, at: number, length: number): string {
  if (length === 0) return ''
  const text = decodeUtf8(viewOf(bytes, at, at + length))
  if (text.includes('\0')) throw malformed('A string contains U+0000')
  return text
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes)
  } catch (cause) {
    throw malformed('A string is not well-formed UTF-8', { cause })
  }
}

/** Default limit per packet. A user property costs far more time and memory than its bytes suggest. */
export const MAX_USER_PROPERTIES = 1_000

/** Reads the data types of MQTT 5.0, section 1.5. Reading past the end throws `malformed`. */
export class MqttReader {
  bytes: Uint8Array
  at: number
  end: number
  maxUserProperties = MAX_USER_PROPERTIES

  constructor(bytes: Uint8Array = new Uint8Array(0), at = 0) {
    this.bytes = bytes
    this.at = at
    this.end = bytes.length
  }

  get remaining(): number {
    return this.end - this.at
  }

  advance(length: number): number {
    const at = this.at
    if (at + length > this.end) throw malformed('A field runs past the end of its container')
    this.at = at + length
    return at
  }

  byte(): number {
    return this.bytes[this.advance(1)] ?? 0
  }

  uint16(): number {
    return uint16(this.bytes, this.advance(2))
  }

  uint32(): number {
    return this.uint16() * 0x1_0000 + this.uint16()
  }

  /** Reads a variable byte integer of at most four bytes, minimally encoded (section 1.5.5). */
  varint(): number {
    let value = 0
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.byte()
      if (byte === 0 && i > 0) break
      value |= (byte & 127) << (7 * i)
      if (byte < 128) return value
    }
    throw malformed('A variable byte integer has too many bytes')
  }

  binary(): Uint8Array {
    const length = this.uint16()
    const at = this.advance(length)
    return viewOf(this.bytes, at, at + length)
  }

  text(): string {
    const length = this.uint16()
    return textOf(this.bytes, this.advance(length), length)
  }
}

const encoder = new TextEncoder()

/** Maximum length of text and binary data (MQTT 5.0, sections 1.5.4 and 1.5.6). */
const MAX_FIELD_BYTES = 65_535

/** Writes the data types of MQTT 5.0, section 1.5, to memory that grows. */
export class MqttWriter {
  bytes: Uint8Array
  at = 0

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
  }

  byte(value: number): void {
    this.reserve(1)
    this.bytes[this.at++] = value
  }

  uint16(value: number): void {
    this.reserve(2)
    this.at = putUint16(this.bytes, this.at, value)
  }

  varint(value: number): void {
    this.reserve(sizeOfVarint(value))
    this.at = putVarint(this.bytes, this.at, value)
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.at)
    this.at += bytes.length
  }

  /** Writes the length and the bytes. Throws {@link ArgumentError} beyond 65,535 bytes. */
  binary(bytes: Uint8Array): void {
    checkField(bytes.length)
    this.uint16(bytes.length)
    this.raw(bytes)
  }

  /** Writes the length and the text as UTF-8. Throws {@link ArgumentError} beyond 65,535 bytes. */
  text(text: string): void {
    // A UTF-16 code unit takes at most three bytes of UTF-8.
    this.reserve(2 + 3 * text.length)
    const from = this.at + 2
    const written = putAscii(this.bytes, from, text) ?? encoder.encodeInto(text, this.bytes.subarray(from)).written
    checkField(written)
    this.at = putUint16(this.bytes, this.at, written) + written
  }

  reserve(bytes: number): void {
    const needed = this.at + bytes
    if (needed <= this.bytes.length) return
    const larger = new Uint8Array(2 * needed)
    larger.set(this.bytes)
    this.bytes = larger
  }
}

function checkField(length: number): void {
  if (length > MAX_FIELD_BYTES)
    throw new ArgumentError(`A string or byte string of an MQTT packet has at most 65,535 bytes, not ${length}`)
}
