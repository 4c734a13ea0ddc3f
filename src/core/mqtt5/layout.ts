import { malformed } from './packet-error.js'
import * as PACKET from './packet-types.js'
import type { Version } from './packets.js'

/** Bits of the first byte of a PUBLISH (MQTT 5.0, section 3.3.1). */
export const FLAG = { retain: 0b0001, qos: 0b0110, qos1: 0b0010, dup: 0b1000 } as const

/** The low half of the first byte of PUBREL, SUBSCRIBE and UNSUBSCRIBE (MQTT 5.0, section 2.1.3). */
export const FIXED_FLAGS = 0b0010

/** A variable byte integer has at most so many bytes (MQTT 5.0, section 1.5.5). */
export const LONGEST_VARINT = 4

/** What a variable byte integer can hold. */
export const LARGEST_VARINT = 0xfff_ffff

/** Type and length of a packet (MQTT 5.0, section 2.1.4), at most, bytes. */
export const LONGEST_HEADER = 1 + LONGEST_VARINT

/** Writes 16 bits at a place; returns the place after them. */
export function putUint16(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value >> 8
  bytes[at + 1] = value
  return at + 2
}

/** Reads 16 bits. */
export const uint16 = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)

/** Writes a variable byte integer (MQTT 5.0, section 1.5.5); returns the place after it. */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let place = at
  let rest = value
  while (rest > 127) {
    bytes[place++] = (rest & 127) | 128
    rest >>>= 7
  }
  bytes[place++] = rest
  return place
}

/** Bytes a variable byte integer takes. */
export function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++
  return size
}

/**
 * Where the packet that begins at a place ends: `undefined` when the bytes end before that is known, `Infinity` when its
 * length is malformed.
 */
export function endOfPacket(bytes: Uint8Array, start: number): number | undefined {
  let length = 0
  for (let i = 1; i < LONGEST_HEADER; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) return undefined
    length |= (byte & 127) << (7 * (i - 1))
    if (byte < 128) return start + i + 1 + length
  }
  return Number.POSITIVE_INFINITY
}

/** Where the content of a packet begins, after its type and length. */
export function startOfContent(frame: Uint8Array): number {
  let at = 1
  while (at < LONGEST_HEADER && (frame[at] ?? 0) > 127) at++
  return at + 1
}

/** A packet that needs but one byte for its length has fewer bytes. */
const SMALL = 130

/**
 * Where the content of a packet begins. Throws unless the packet is as long as it says, and, with MQTT 5, says so in no more
 * bytes than it takes (MQTT 5.0, section 1.5.5).
 */
export function contentOf(frame: Uint8Array, version: Version): number {
  if (frame[1] === frame.length - 2 && frame.length < SMALL) return 2
  if (endOfPacket(frame, 0) !== frame.length) throw malformed('A packet is not as long as it says')
  const at = startOfContent(frame)
  if (version === 5 && at > 2 && frame[at - 1] === 0) throw malformed('The length of a packet has too many bytes')
  return at
}

/** Some of the bytes, no copy; faster than `subarray`, and never a Buffer. */
export const viewOf = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset + from, to - from)

/** Size of a PUBACK with success, bytes. */
export const PUBACK_SIZE = 4

/** Writes a PUBACK with success (MQTT 5.0, section 3.4) to a place. */
export function putPuback(bytes: Uint8Array, at: number, packetId: number): void {
  bytes[at] = PACKET.puback << 4
  bytes[at + 1] = 2
  putUint16(bytes, at + 2, packetId)
}

/** PUBACK with success. */
export function pubackOf(packetId: number): Uint8Array {
  const bytes = new Uint8Array(PUBACK_SIZE)
  putPuback(bytes, 0, packetId)
  return bytes
}
