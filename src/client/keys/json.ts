import type { StandardSchemaV1 } from '@standard-schema/spec'
import { fromUtf8, utf8 } from '../../core/util/bytes.js'
import { ArgumentError, PayloadError, reason } from '../../core/util/errors.js'
import { type Codec, wrongType } from './codec.js'

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

/** What JSON makes `{}` of, or an object of numbers, or nothing. */
const LOST = [Map, Set, WeakMap, WeakSet, ArrayBuffer, RegExp, Error, Promise] as const

/**
 * Throws {@link ArgumentError}, with the path, for what `JSON.stringify` would change or leave out without a word. Properties
 * that are `undefined` may be left out: that is how optional ones are written. Of a value that says itself how it becomes
 * JSON (`toJSON`, such as a Date) it is the result that counts. -0 becomes 0, which is equal.
 */
function checkLossless(value: unknown): void {
  check(value, '', new Set())
}

/** @param around - the objects that it is in: of a circle JSON says itself what is wrong */
function check(value: unknown, path: string, around: Set<object>): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw lost(String(value), path)
    return
  }
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') {
    throw lost(typeof value, path)
  }
  if (typeof value !== 'object' || value === null || around.has(value)) return
  // JSON makes what is in the box of it.
  if (value instanceof Number) check(value.valueOf(), path, around)
  around.add(value)
  if ('toJSON' in value && typeof value.toJSON === 'function')
    checkMade(value, value.toJSON(lastOf(path)), path, around)
  else checkContent(value, path, around)
  around.delete(value)
}

/** What `toJSON` has returned, whose own `toJSON` is not asked any more. */
function checkMade(from: object, made: unknown, path: string, around: Set<object>): void {
  if (from instanceof Date && made === null) throw lost('invalid Date', path)
  if (made === undefined && (path === '' || path.endsWith(']'))) throw lost('undefined', path)
  if (typeof made === 'object' && made !== null && !around.has(made)) {
    around.add(made)
    checkContent(made, path, around)
    around.delete(made)
  } else if (made !== from) check(made, path, around)
}

function checkContent(value: object, path: string, around: Set<object>): void {
  const symbol = Object.getOwnPropertySymbols(value).find(name =>
    Object.prototype.propertyIsEnumerable.call(value, name),
  )
  if (symbol !== undefined) throw lost('property that is a symbol', `${path}[${String(symbol)}]`)
  if (Array.isArray(value)) checkArray(value, path, around)
  else checkProperties(value, path, around)
}

function checkArray(items: readonly unknown[], path: string, around: Set<object>): void {
  // By index: a hole is passed over by everything else, and becomes null.
  for (let i = 0; i < items.length; i++) {
    if (items[i] === undefined) throw lost('undefined', `${path}[${i}]`)
    check(items[i], `${path}[${i}]`, around)
  }
  const names = Object.keys(items)
  if (names.length > items.length) throw lost('array with a property', `${path}.${names[items.length]}`)
}

function checkProperties(value: object, path: string, around: Set<object>): void {
  if (ArrayBuffer.isView(value) || LOST.some(kind => value instanceof kind)) {
    throw lost(value.constructor.name, path)
  }
  for (const [name, property] of Object.entries(value)) check(property, path === '' ? name : `${path}.${name}`, around)
}

/** The name by which JSON asks `toJSON` for a value. */
const lastOf = (path: string): string => /[^.[\]]*(?=\]?$)/.exec(path)?.[0] ?? ''

const lost = (what: string, path: string): ArgumentError =>
  new ArgumentError(`JSON has no ${what}${path === '' ? '' : ` (at ${path})`}: write it as text or a plain object`)
