import type { Codec } from '../../client/keys/codec.js'
import { ArgumentError } from '../../core/util/errors.js'
import { fromBase64, toBase64 } from '../wire/base64.js'

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
    const bytes = typeof value === 'string' ? fromBase64(value) : undefined
    // What comes back has to be what was given, left-over bits included.
    if (bytes === undefined || toBase64(bytes) !== value) {
      throw new ArgumentError('Expected the value to be Base64 text, padded')
    }
    return bytes
  },
  decode: toBase64,
}
