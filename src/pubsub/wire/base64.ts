import { toBinaryString } from '../../bytes.js'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PADDING = 0x3d
const NO_DIGIT = 64
const VALUES = /* @__PURE__ */ digitValues()

/**
 * Base64 with padding (RFC 4648, section 4), as the JSON subprotocol carries bytes.
 *
 * @example
 * ```ts
 * toBase64(Uint8Array.of(1, 2, 3)) // 'AQID'
 * ```
 */
export function toBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(4 * Math.ceil(bytes.length / 3)).fill(PADDING)
  let at = 0
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const group = (at0(bytes, i) << 16) | (at0(bytes, i + 1) << 8) | at0(bytes, i + 2)
    codes[at] = DIGITS.charCodeAt(group >> 18)
    codes[at + 1] = DIGITS.charCodeAt((group >> 12) & 63)
    if (left > 1) codes[at + 2] = DIGITS.charCodeAt((group >> 6) & 63)
    if (left > 2) codes[at + 3] = DIGITS.charCodeAt(group & 63)
    at += 4
  }
  return toBinaryString(codes)
}

/**
 * Bytes of base64 text, or `undefined` when it is not base64: strictly the standard alphabet, with its padding and
 * without white space. Bits left over in the last digit are not looked at.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.length - padding
  const bytes = new Uint8Array((text.length / 4) * 3 - padding)
  let bits = 0
  let at = 0
  for (let i = 0; i < digits; i++) {
    const value = VALUES[text.charCodeAt(i)] ?? NO_DIGIT
    if (value === NO_DIGIT) return undefined
    bits = (bits << 6) | value
    if (i % 4 !== 0) bytes[at++] = bits >> (6 - 2 * (i % 4))
  }
  return bytes
}

const at0 = (bytes: Uint8Array, index: number): number => bytes[index] ?? 0

function digitValues(): Uint8Array {
  const values = new Uint8Array(128).fill(NO_DIGIT)
  for (let i = 0; i < DIGITS.length; i++) values[DIGITS.charCodeAt(i)] = i
  return values
}
