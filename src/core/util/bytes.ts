import { PayloadError, reason } from './errors.js'

const encoder = /* @__PURE__ */ new TextEncoder()
const strictDecoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lossyDecoder = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true })

/** Maximum length for the loop, UTF-16 code units. Longer strings are left to the system's encoder. */
const MAX_LOOP_LENGTH = 256
const HEX_DIGITS = '0123456789ABCDEF'

export const utf8 = (text: string): Uint8Array => encoder.encode(text)

/**
 * Writes a short ASCII string, for which calling the system's encoder would take longer. Returns the length of the
 * string, or `undefined` if the string is not short ASCII. The caller provides the memory.
 */
export function putAscii(bytes: Uint8Array, from: number, text: string): number | undefined {
  const { length } = text
  if (length > MAX_LOOP_LENGTH) return undefined
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 127) return undefined
    bytes[from + i] = unit
  }
  return length
}

/** Returns whether a string can be encoded as UTF-8. A lone surrogate would silently become U+FFFD. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

/** Decodes UTF-8. Throws {@link PayloadError} if the bytes are malformed. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes)
  } catch (cause) {
    throw new PayloadError(`Bytes are not UTF-8: ${reason(cause)}`, { cause })
  }
}

/** Decodes text for display. Malformed UTF-8 becomes replacement characters. */
export const displayText = (bytes: Uint8Array): string => lossyDecoder.decode(bytes)

/** Encodes bytes as upper-case Base16 (RFC 4648, section 8), the form in notification topics. */
export function toHex(bytes: Uint8Array): string {
  const digits = new Uint8Array(2 * bytes.length)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    digits[2 * i] = HEX_DIGITS.charCodeAt(byte >> 4)
    digits[2 * i + 1] = HEX_DIGITS.charCodeAt(byte & 15)
  }
  // Creates one flat string, because concatenation would leave a tree of pieces in the heap.
  return toBinaryString(digits)
}

/** Decodes Base16 in upper or lower case. Returns `undefined` for other text. */
export function fromHex(hex: string): Uint8Array | undefined {
  if (hex.length % 2 !== 0 || !/^[0-9A-Fa-f]*$/.test(hex)) return undefined
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  return bytes
}

/** Returns whether two values have the same bytes, or both are undefined. */
export function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (!a || !b || a.length !== b.length) return a === b
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Copies bytes if they use less than seven eighths of their buffer, so that keeping them does not keep the buffer. */
export const copyIfSparse = (bytes: Uint8Array): Uint8Array =>
  8 * bytes.byteLength >= 7 * bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

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

/** Converts bytes to a string with one code unit per byte, for use as the key of a `Map`. */
export function toBinaryString(bytes: Uint8Array): string {
  if (bytes.length <= 4096) return charactersOf(bytes)
  let text = ''
  for (let at = 0; at < bytes.length; at += 4096) text += charactersOf(bytes.subarray(at, at + 4096))
  return text
}

export function fromBinaryString(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

// `Reflect.apply` is used because spreading would iterate over the bytes one by one.
const charactersOf = (codes: Uint8Array): string => Reflect.apply(String.fromCharCode, undefined, codes)

/** Returns unguessable random bytes, for ids and correlation data. */
export const randomBytes = (length: number): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(length))
