import type { StandardSchemaV1 } from '@standard-schema/spec'
import { fromUtf8, isWellFormed, utf8 } from '../base/bytes.js'
import { ArgumentError, PayloadError, reason, shown } from '../base/errors.js'

/**
 * How values of a key become bytes and come back. `encode` throws for a value it cannot write, `decode` for bytes it
 * cannot read; it may as well return a value of its own choice for them.
 *
 * @example
 * ```ts
 * const celsius: Codec<number> = { encode: t => number.encode(t), decode: b => Math.round(number.decode(b)) }
 * ```
 */
export interface Codec<T> {
  encode(value: T): Uint8Array
  decode(bytes: Uint8Array): T
}

/** The bytes of a value. Throws {@link ArgumentError} that names the key for whatever the codec throws. */
export function encodeFor<T>(key: string, codec: Pick<Codec<T>, 'encode'>, value: T): Uint8Array {
  try {
    return codec.encode(value)
  } catch (cause) {
    throw new ArgumentError(`The value for key ${JSON.stringify(key)} does not encode: ${reason(cause)}`, { cause })
  }
}

/** Bytes as they are. */
export const bytes: Codec<Uint8Array> = {
  encode(value) {
    if (!(value instanceof Uint8Array)) throw wrongType('a Uint8Array', value)
    return value
  },
  decode: value => value,
}

/** UTF-8 text. */
export const text: Codec<string> = {
  encode(value) {
    if (typeof value !== 'string' || !isWellFormed(value)) throw wrongType('a string of whole characters', value)
    return utf8(value)
  },
  decode: fromUtf8,
}

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

/** A finite number, as decimal text such as `21.5`. */
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

/** `true` or `false`. */
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

/**
 * JSON; with a schema that follows the Standard Schema specification (zod, valibot, arktype...) every value read is
 * validated, and is what the schema makes of it. Values written are not validated. The schema must be synchronous.
 *
 * @example
 * ```ts
 * json<{ name: string }>()
 * json(z.object({ name: z.string() }))
 * ```
 */
export function json<S extends StandardSchemaV1>(schema: S): Codec<StandardSchemaV1.InferOutput<S>>
export function json<T>(): Codec<T>
export function json(schema?: StandardSchemaV1): Codec<unknown> {
  const codec: Codec<unknown> & { readonly [SCHEMA]: unknown } = {
    [SCHEMA]: schema ?? json,
    encode(value) {
      const encoded = stringify(value)
      if (encoded === undefined) throw wrongType('a JSON value', value)
      return utf8(encoded)
    },
    decode(stored) {
      const parsed: unknown = JSON.parse(fromUtf8(stored))
      return schema ? validated(schema, parsed) : parsed
    },
  }
  return codec
}

const SCHEMA: unique symbol = Symbol('schema')

/** What tells codecs apart: two codecs of JSON with the same schema, or with none, are as one. */
export const identityOf = <T>(codec: Codec<T>): unknown => (SCHEMA in codec ? codec[SCHEMA] : codec)

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new ArgumentError(`Expected the value to be a JSON value: ${reason(cause)}`, { cause })
  }
}

function validated(schema: StandardSchemaV1, value: unknown): unknown {
  const result = schema['~standard'].validate(value)
  if ('then' in result) {
    // How it ends does not matter any more.
    result.then(undefined, () => undefined)
    throw new PayloadError('The schema validates asynchronously, which a codec cannot wait for')
  }
  if (result.issues) throw new PayloadError(`Not what the schema asks for: ${result.issues.map(describe).join('; ')}`)
  return result.value
}

function describe({ message, path }: StandardSchemaV1.Issue): string {
  const at = path?.map(segment => String(typeof segment === 'object' ? segment.key : segment)).join('.')
  return at ? `${at}: ${message}` : message
}

const wrongType = (expected: string, value: unknown): ArgumentError =>
  new ArgumentError(`Expected the value to be ${expected}, got \`${shown(value)}\` (${typeof value})`)
