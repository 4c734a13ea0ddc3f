import { putAscii } from '../util/bytes.js'
import { ArgumentError } from '../util/errors.js'
import { putUint16, putVarint, sizeOfVarint } from './layout.js'

const encoder = new TextEncoder()

/** MQTT 5.0, sections 1.5.4 and 1.5.6. */
const LONGEST_FIELD = 65_535

/** Writes the data types of MQTT 5.0, section 1.5, one after another, to memory that grows. */
export class Writer {
  bytes: Uint8Array
  at = 0

  /** @param size - memory to begin with, bytes */
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

  uint32(value: number): void {
    this.uint16(value >>> 16)
    this.uint16(value & 0xffff)
  }

  varint(value: number): void {
    this.reserve(sizeOfVarint(value))
    this.at = putVarint(this.bytes, this.at, value)
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.at)
    this.at += bytes.length
  }

  /** Bytes with their length. Throws {@link ArgumentError} beyond 65,535. */
  binary(bytes: Uint8Array): void {
    checkField(bytes.length)
    this.uint16(bytes.length)
    this.raw(bytes)
  }

  /** Throws {@link ArgumentError} beyond 65,535 bytes. */
  text(text: string): void {
    // One UTF-16 unit becomes three bytes of UTF-8 at most.
    this.reserve(2 + 3 * text.length)
    const from = this.at + 2
    const written = putAscii(this.bytes, from, text) ?? encoder.encodeInto(text, this.bytes.subarray(from)).written
    checkField(written)
    this.at = putUint16(this.bytes, this.at, written) + written
  }

  /** Makes room for so many bytes. */
  reserve(bytes: number): void {
    const needed = this.at + bytes
    if (needed <= this.bytes.length) return
    const larger = new Uint8Array(2 * needed)
    larger.set(this.bytes)
    this.bytes = larger
  }
}

function checkField(length: number): void {
  if (length > LONGEST_FIELD)
    throw new ArgumentError(`A text or a byte string of an MQTT packet has at most 65,535 bytes, not ${length}`)
}
