/** Packet types, in the high half of the first byte (MQTT 5.0, section 2.1.2). */
export const PACKET = { connack: 2, publish: 3, puback: 4, pingreq: 12, pingresp: 13 } as const

/** Bits of the first byte of a PUBLISH (MQTT 5.0, section 3.3.1). */
export const FLAG = { retain: 0b0001, qos: 0b0110, qos1: 0b0010, dup: 0b1000 } as const

/** Property identifiers of a PUBLISH (MQTT 5.0, section 2.2.2.2). */
export const PUBLISH_PROPERTY = {
  payloadFormat: 0x01,
  messageExpiry: 0x02,
  contentType: 0x03,
  responseTopic: 0x08,
  correlationData: 0x09,
  userProperty: 0x26,
} as const

/** Type and length of a packet (MQTT 5.0, section 2.1.4), at most, bytes. */
export const LONGEST_HEADER = 5

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

/** Size of a PUBACK with success, bytes. */
export const PUBACK_SIZE = 4

/** Writes a PUBACK with success (MQTT 5.0, section 3.4) to the start of the memory given. */
export function putPuback(bytes: Uint8Array, packetId: number): Uint8Array {
  bytes[0] = PACKET.puback << 4
  bytes[1] = 2
  putUint16(bytes, 2, packetId)
  return bytes
}

/** PUBACK with success. */
export const pubackOf = (packetId: number): Uint8Array => putPuback(new Uint8Array(PUBACK_SIZE), packetId)
