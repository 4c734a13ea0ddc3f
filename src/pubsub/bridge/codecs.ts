import type { Codec } from '../../client/keys/codec.js'
import { identityOf, json } from '../../client/keys/json.js'
import { fromUtf8, utf8 } from '../../core/util/bytes.js'
import { ArgumentError } from '../../core/util/errors.js'
import { JsonText } from '../wire/json.js'
import { fromBase64, toBase64 } from '../wire/json-frame.js'

/** A codec that stores and reads JSON character by character. Throws for bytes that are not JSON. */
export const exactJson: Codec<JsonText> = {
  encode(value) {
    if (!(value instanceof JsonText)) throw new ArgumentError('Expected the text of a JSON value')
    return utf8(value.text)
  },
  decode(stored) {
    const value = new JsonText(fromUtf8(stored))
    // Reading `value` validates the JSON.
    void value.value
    return value
  },
}

/** Replaces `json()` without a schema by {@link exactJson}. Returns other codecs unchanged. */
export const exactIfDefault = (codec: Codec<unknown>): Codec<unknown> =>
  identityOf(codec) === identityOf(json()) ? exactJson : codec

/**
 * A codec for any bytes as Base64 text (RFC 4648, section 4, padded), for keys whose values are not JSON.
 *
 * @example
 * ```ts
 * bridge(store, hub, {
 *   codec: key => (key.startsWith('image/') ? base64 : json()),
 * })
 * ```
 */
export const base64: Codec<string> = {
  encode(value) {
    const bytes = typeof value === 'string' ? fromBase64(value) : undefined
    // Decoding must return the same text, so a text with unused bits in the last digit is rejected.
    if (bytes === undefined || toBase64(bytes) !== value) {
      throw new ArgumentError('Expected the value to be Base64 text, padded')
    }
    return bytes
  },
  decode: toBase64,
}
