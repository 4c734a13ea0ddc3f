import { PayloadError, reason } from './errors.js'

const encoder = /* @__PURE__ */ new TextEncoder()
const strictDecoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lossyDecoder = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true })

/** Longer texts are left to the system's encoder, UTF-16 units. */
const LONGEST_LOOP = 256
const HEX_DIGITS = '0123456789ABCDEF'

/** UTF-8 bytes of a text. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text)

/**
 * Writes a short text of ASCII to a place where there is room for it, for which the call of the system's encoder would take
 * longer; returns its length, `undefined` for any other text.
 */
export function putAscii(bytes: Uint8Array, from: number, text: string): number | undefined {
  const { length } = text
  if (length > LONGEST_LOOP) return undefined
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 127) return undefined
    bytes[from + i] = unit
  }
  return length
}

/** Whether a text has UTF-8 bytes of its own; half a surrogate pair has not, and would silently become U+FFFD. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/** Text of UTF-8 bytes. Raises {@link PayloadError} when they are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes)
  } catch (cause) {
    throw new PayloadError(`Bytes are not UTF-8: ${reason(cause)}`, { cause })
  }
}

/** Text for people: bytes that are not UTF-8 become replacement characters. */
export const displayText = (bytes: Uint8Array): string => lossyDecoder.decode(bytes)

/** Upper-case Base16 (RFC 4648, section 8), as notification topics carry client ids and keys. */
export function toHex(bytes: Uint8Array): string {
  const digits = new Uint8Array(2 * bytes.length)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    digits[2 * i] = HEX_DIGITS.charCodeAt(byte >> 4)
    digits[2 * i + 1] = HEX_DIGITS.charCodeAt(byte & 15)
  }
  // One flat string: a sum of pieces would stay a tree of them in the heap.
  return toBinaryString(digits)
}

/** Bytes of Base16 text in either case, or `undefined` when it is not Base16. */
export function fromHex(hex: string): Uint8Array | undefined {
  if (hex.length % 2 !== 0 || !/^[0-9A-Fa-f]*$/.test(hex)) return undefined
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  return bytes
}

/** Whether two byte strings are equal. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Bytes to keep: a copy when more than an eighth of the memory that would be kept with them is not theirs. */
export const copyIfSparse = (bytes: Uint8Array): Uint8Array =>
  8 * bytes.byteLength >= 7 * bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

/** One byte string of several. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const joined = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

/** A string with one code unit per byte, to use arbitrary bytes as the key of a `Map`. */
export function toBinaryString(bytes: Uint8Array): string {
  if (bytes.length <= 4096) return charactersOf(bytes)
  let text = ''
  for (let at = 0; at < bytes.length; at += 4096) text += charactersOf(bytes.subarray(at, at + 4096))
  return text
}

/** The bytes of {@link toBinaryString}. */
export function fromBinaryString(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

// Spread, they would be walked through one by one.
const charactersOf = (codes: Uint8Array): string => Reflect.apply(String.fromCharCode, undefined, codes)

/** Random bytes that cannot be guessed, for ids and correlation data. */
export const randomBytes = (length: number): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(length))
