import { LONGEST_VARINT, uint16, viewOf } from './layout.js'
import { malformed } from './packet-error.js'
import { textOf } from './text.js'
import { MOST_USER_PROPERTIES } from './user-properties.js'

/** Reads the data types of MQTT 5.0, section 1.5, one after another. What runs past the end is malformed. */
export class Reader {
  bytes: Uint8Array
  at: number
  end: number
  /** More of them in one packet are refused. */
  mostUserProperties = MOST_USER_PROPERTIES

  /** @param at - place in the bytes to begin at; default the first */
  constructor(bytes: Uint8Array = new Uint8Array(0), at = 0) {
    this.bytes = bytes
    this.at = at
    this.end = bytes.length
  }

  /** How many bytes are to come. */
  get left(): number {
    return this.end - this.at
  }

  /** Where the next bytes begin, so many. */
  take(length: number): number {
    const at = this.at
    if (at + length > this.end) throw malformed('A field runs past the end of what it is in')
    this.at = at + length
    return at
  }

  byte(): number {
    return this.bytes[this.take(1)] ?? 0
  }

  uint16(): number {
    return uint16(this.bytes, this.take(2))
  }

  uint32(): number {
    return this.uint16() * 0x1_0000 + this.uint16()
  }

  /** Section 1.5.5: at most four bytes, and no more than it takes. */
  varint(): number {
    let value = 0
    for (let i = 0; i < LONGEST_VARINT; i++) {
      const byte = this.byte()
      if (byte === 0 && i > 0) break
      value |= (byte & 127) << (7 * i)
      if (byte < 128) return value
    }
    throw malformed('A variable byte integer has more bytes than it may have')
  }

  binary(): Uint8Array {
    const length = this.uint16()
    const at = this.take(length)
    return viewOf(this.bytes, at, at + length)
  }

  text(): string {
    const length = this.uint16()
    return textOf(this.bytes, this.take(length), length)
  }

  /** Everything has been read. */
  finish(): void {
    if (this.left > 0) throw malformed('There are bytes left over at the end of the packet')
  }
}
