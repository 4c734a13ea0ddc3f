import { fromUtf8 } from '../../core/util/bytes.js'

/** The maximum nesting of groups. Deeper nesting is rejected as an attack, as in other protobuf readers. */
const MAX_GROUP_NESTING = 100
/**
 * The maximum number of fields in a message, including groups. Legitimate messages have ten fields, and reading a field
 * takes at least 0.1 us.
 */
export const MAX_FIELDS = 10_000
/** The tag of `google.protobuf.Any.type_url`. */
const TYPE_URL = 0o12

/**
 * Returns whether bytes are a serialized `google.protobuf.Any`: well-formed protobuf whose type URL, if any, is UTF-8.
 * This module implements no other part of protobuf, so that JSON clients do not have to load the protobuf codec.
 *
 * @example
 * ```ts
 * // true: the type URL is 'x'
 * isAny(Uint8Array.of(0x0a, 1, 0x78))
 * ```
 */
export function isAny(bytes: Uint8Array): boolean {
  const fields = new Fields(bytes)
  try {
    while (fields.at < bytes.length) fields.skipField(fields.tag(), 0)
    return true
  } catch {
    return false
  }
}

class Fields {
  at = 0
  #count = 0
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  tag(): number {
    if (++this.#count > MAX_FIELDS) throw new RangeError('too many fields')
    const tag = this.#varint()
    if (tag < 8 || tag > 0xffff_ffff || tag % 8 > 5) throw new RangeError('no tag')
    return tag
  }

  skipField(tag: number, groups: number): void {
    switch (tag % 8) {
      case 0:
        this.#varint()
        break
      case 1:
        this.#skip(8)
        break
      case 2:
        this.#skipBytes(tag, groups)
        break
      case 3:
        this.#skipGroup(tag, groups + 1)
        break
      case 5:
        this.#skip(4)
        break
      default:
        throw new RangeError('an end-group tag without a group')
    }
  }

  #skipBytes(tag: number, groups: number): void {
    const length = this.#varint()
    const start = this.at
    this.#skip(length)
    if (tag === TYPE_URL && groups === 0) fromUtf8(this.#bytes.subarray(start, this.at))
  }

  #skipGroup(start: number, groups: number): void {
    if (groups > MAX_GROUP_NESTING) throw new RangeError('too many groups')
    // The end-group tag is the start-group tag plus one.
    for (let tag = this.tag(); tag !== start + 1; tag = this.tag()) this.skipField(tag, groups)
  }

  #skip(length: number): void {
    this.at += length
    if (this.at > this.#bytes.length) throw new RangeError('too short')
  }

  /** Reads a varint. The result is inexact beyond 2^53, which is sufficient for lengths and tags. */
  #varint(): number {
    let value = 0
    for (let factor = 1; factor < 2 ** 70; factor *= 128) {
      const byte = this.#bytes[this.at++]
      if (byte === undefined) throw new RangeError('too short')
      value += (byte % 128) * factor
      if (byte < 128) return value
    }
    throw new RangeError('too long')
  }
}
