import type { StandardSchemaV1 } from '@standard-schema/spec'
import { fromUtf8, utf8 } from '../../core/util/bytes.js'
import { ArgumentError, PayloadError, reason } from '../../core/util/errors.js'
import { type Codec, wrongType } from './codec.js'
import { checkLossless } from './latest.js'

/**
 * JSON; with a schema that follows the Standard Schema specification (zod, valibot, arktype...) every value read is
 * validated, and is what the schema makes of it. Values written are not validated, but what JSON would lose or change
 * without a word is refused, with its path: NaN, an invalid Date, a Map, `undefined` in an array, symbols. -0 becomes 0,
 * properties that are `undefined` are left out, and instances of classes become plain objects. Numbers too large for
 * JavaScript are not read. The schema must be synchronous.
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
  if (schema !== undefined && typeof Object(Object(schema)['~standard']).validate !== 'function')
    throw new ArgumentError(
      'Expected the schema of `json` to follow the Standard Schema specification, as those of zod, valibot and arktype do',
    )
  const codec: Codec<unknown> & { readonly [SCHEMA]: unknown } = {
    [SCHEMA]: schema ?? json,
    encode(value) {
      const encoded = stringify(value)
      if (encoded === undefined) throw wrongType('a JSON value', value)
      return utf8(encoded)
    },
    decode(stored) {
      const parsed = parse(fromUtf8(stored))
      return schema ? validated(schema, parsed) : parsed
    },
  }
  return codec
}

const SCHEMA: unique symbol = Symbol('schema')

/** What tells codecs apart: two codecs of JSON with the same schema, or with none, are as one. */
export const identityOf = <T>(codec: Codec<T>): unknown => (SCHEMA in codec ? codec[SCHEMA] : codec)

/** A number has to be long, or have a long exponent, to be too large. */
const LARGE_NUMBER = /\d{200}|[eE]\+?\d{3}/

function parse(text: string): unknown {
  if (LARGE_NUMBER.test(text)) JSON.parse(text, refuseInfinity)
  return JSON.parse(text)
}

function refuseInfinity(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new PayloadError('A number is too large: it would become Infinity')
  return value
}

function stringify(value: unknown): string | undefined {
  try {
    checkLossless(value)
    return JSON.stringify(value)
  } catch (cause) {
    if (cause instanceof ArgumentError) throw cause
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
