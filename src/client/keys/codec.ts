import { isBytes } from '../../core/util/built-in-types.js'
import { fromUtf8, isWellFormed, utf8 } from '../../core/util/bytes.js'
import { checkHas } from '../../core/util/check.js'
import { ArgumentError, formatValue, PayloadError, reason } from '../../core/util/errors.js'

/**
 * Converts a key's values to bytes and back. `encode` throws for a value that it cannot encode. `decode` throws
 * for bytes that it cannot decode, or returns a fallback value.
 *
 * @example
 * ```ts
 * const celsius: Codec<number> = {
 *   encode: t => number.encode(t),
 *   decode: b => Math.round(number.decode(b)),
 * }
 * ```
 */
export interface Codec<T> {
  encode(value: T): Uint8Array
  decode(bytes: Uint8Array): T
}

/** The codecs that programs mean by a constructor. */
const CODEC_NAMES: Readonly<Record<string, string>> = {
  Number: 'number',
  String: 'text',
  Boolean: 'boolean',
  Uint8Array: 'bytes',
}

/** Throws {@link ArgumentError} for anything but a codec, such as `json` instead of `json()`. */
export function checkCodec<T>(codec: Codec<T> | undefined): Codec<T> {
  if (codec === undefined) {
    throw new ArgumentError('Expected a codec for the values: number, text, boolean, bytes, json() or a custom one')
  }
  if (typeof codec === 'function') {
    const { name } = Object(codec)
    const meant = CODEC_NAMES[name] ?? `${name || 'json'}()`
    throw new ArgumentError(`Expected a codec, got a function: write \`${meant}\``)
  }
  checkHas('the codec (as text or json())', codec, ['encode', 'decode'])
  return codec
}

/**
 * Encodes a value. Throws {@link ArgumentError}, which names the key, if the codec throws or does not return bytes.
 */
export function encodeFor<T>(key: string, codec: Pick<Codec<T>, 'encode'>, value: T): Uint8Array {
  try {
    if (isPromise(value)) throw new ArgumentError(PROMISE_ADVICE)
    const encoded: unknown = codec.encode(value)
    if (isBytes(encoded)) {
      checkAttached(encoded)
      return encoded
    }
    throw new ArgumentError(
      `Expected \`encode\` of the codec to return a Uint8Array, got \`${formatValue(encoded)}\` (${typeof encoded})`,
    )
  } catch (cause) {
    throw new ArgumentError(`The value for key ${JSON.stringify(key)} cannot be encoded: ${reason(cause)}`, { cause })
  }
}

const PROMISE_ADVICE =
  'it is a promise: await it before the write; in a stream put `mergeMap(value => value)` before `set`'

const isPromise = (value: unknown): boolean => typeof Object(value).then === 'function'

/** Throws if the buffer of the bytes was transferred, for example to a worker. */
function checkAttached({ length, buffer }: Uint8Array): void {
  if (length > 0) return
  try {
    new Uint8Array(buffer)
  } catch (cause) {
    throw new ArgumentError('its bytes were transferred, for example to a worker: encode a copy', { cause })
  }
}

/** A codec for raw bytes, which stay unchanged. */
export const bytes: Codec<Uint8Array> = {
  encode(value) {
    if (!isBytes(value))
      throw wrongType(
        'a Uint8Array',
        value,
        '; for other values give the key another codec, such as `store.key(name, number)`',
      )
    return value
  },
  decode: value => value,
}

/** A codec for UTF-8 text. */
export const text: Codec<string> = {
  encode(value) {
    if (typeof value !== 'string' || !isWellFormed(value)) throw wrongType('a well-formed string', value)
    return utf8(value)
  },
  decode: fromUtf8,
}

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

/** A codec for a finite number, which is stored as decimal text such as `21.5`. */
export const number: Codec<number> = {
  encode(value) {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw wrongType('a finite number', value)
    return utf8(String(value))
  },
  decode(stored) {
    const digits = fromUtf8(stored).trim()
    const value = Number(digits)
    if (!DECIMAL.test(digits) || !Number.isFinite(value))
      throw new PayloadError(`Not a number: ${JSON.stringify(digits.slice(0, 80))}`)
    return value
  },
}

/** A codec for `true` and `false`. */
export const boolean: Codec<boolean> = {
  encode(value) {
    if (typeof value !== 'boolean') throw wrongType('a boolean', value)
    return utf8(String(value))
  },
  decode(stored) {
    const word = fromUtf8(stored).trim()
    if (word !== 'true' && word !== 'false')
      throw new PayloadError(`Not true or false: ${JSON.stringify(word.slice(0, 80))}`)
    return word === 'true'
  },
}

export const wrongType = (expected: string, value: unknown, advice = ''): ArgumentError =>
  new ArgumentError(`Expected the value to be ${expected}, got \`${formatValue(value)}\` (${typeof value})${advice}`)
