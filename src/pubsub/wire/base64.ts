import { fromBinaryString, toBinaryString } from '../../core/util/bytes.js'

/**
 * Base64 with padding (RFC 4648, section 4), as the JSON subprotocol carries bytes.
 *
 * @example
 * ```ts
 * toBase64(Uint8Array.of(1, 2, 3)) // 'AQID'
 * ```
 */
export const toBase64 = (bytes: Uint8Array): string => btoa(toBinaryString(bytes))

/**
 * Bytes of base64 text, or `undefined` when it is not base64: strictly the standard alphabet, with its padding and
 * without white space. Bits left over in the last digit are not looked at.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  // The platform takes white space and does without padding.
  if (text.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(text.replace(/==?$/, ''))) return undefined
  return fromBinaryString(atob(text))
}
