import { ArgumentError } from '../errors.js'
import type { Codec } from '../keys/codec.js'

/**
 * Any bytes, as Base64 text (RFC 4648, section 4, padded): for keys whose values are not JSON.
 *
 * @example
 * ```ts
 * bridge(store, hub, { codec: key => (key.startsWith('image/') ? base64 : json()) })
 * ```
 */
export const base64: Codec<string> = {
  encode(value) {
    const bytes = Buffer.from(String(value), 'base64')
    // Buffer passes over whatever is no Base64.
    if (bytes.toString('base64') !== value) throw new ArgumentError('Expected the value to be Base64 text, padded')
    return new Uint8Array(bytes)
  },
  decode: bytes => Buffer.from(bytes).toString('base64'),
}
