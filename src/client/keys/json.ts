import type { StandardSchemaV1 } from '@standard-schema/spec'
import { hasTag } from '../../core/util/built-in-types.js'
import { fromUtf8, utf8 } from '../../core/util/bytes.js'
import { ArgumentError, PayloadError, reason } from '../../core/util/errors.js'
import { isNestedWithin, MAX_NESTING, TOO_DEEP } from '../../core/util/json-nesting.js'
import { type Codec, wrongType } from './codec.js'

/**
 * Returns a codec for JSON values. With a schema that implements the Standard Schema specification (zod, valibot,
 * arktype...), every value read is validated and replaced by the schema's output. Written values are not validated, but
 * anything that JSON would silently lose or change throws `argument` with the path: NaN, an invalid Date, a Map,
 * `undefined` in an array, symbols. -0 becomes 0, `undefined` properties are omitted, and class instances become plain
 * objects. Values that are nested deeper than 512 levels are not written, and do not decode. Neither do numbers that
 * exceed the range of JavaScript. The schema must be synchronous.
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
      'Expected the schema of `json` to follow the Standard Schema specification, as in zod, valibot and arktype',
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
      return schema ? validate(schema, parsed) : parsed
    },
  }
  return codec
}

const SCHEMA: unique symbol = Symbol('schema')

/** Returns the identity by which hooks compare codecs: JSON codecs with the same schema, or without one, are equal. */
export const identityOf = <T>(codec: Codec<T>): unknown => (SCHEMA in codec ? codec[SCHEMA] : codec)

/** Matches texts whose numbers may overflow: such a number needs many digits or a long exponent. */
const MAYBE_INFINITE = /\d{200}|[eE]\+?\d{3}/

function parse(text: string): unknown {
  if (!isNestedWithin(MAX_NESTING, text)) throw new PayloadError(`The JSON is ${TOO_DEEP}`)
  if (MAYBE_INFINITE.test(text)) JSON.parse(text, rejectInfinity)
  return JSON.parse(text)
}

function rejectInfinity(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new PayloadError('A number is too large: it would become Infinity')
  return value
}

function stringify(value: unknown): string | undefined {
  try {
    checkLossless(value)
    const text = JSON.stringify(value)
    if (text !== undefined && !isNestedWithin(MAX_NESTING, text)) throw depthError()
    return text
  } catch (cause) {
    if (cause instanceof ArgumentError) throw cause
    throw new ArgumentError(`Expected the value to be a JSON value: ${reason(cause)}`, { cause })
  }
}

function validate(schema: StandardSchemaV1, value: unknown): unknown {
  const result = schema['~standard'].validate(value)
  if ('then' in result) {
    // Handles a rejection, which nothing else would handle.
    result.then(undefined, () => undefined)
    throw new PayloadError('The schema validates asynchronously, which a codec cannot wait for')
  }
  if (result.issues)
    throw new PayloadError(`The schema rejects the value: ${result.issues.map(formatIssue).join('; ')}`)
  return result.value
}

function formatIssue({ message, path }: StandardSchemaV1.Issue): string {
  const at = path?.map(segment => String(typeof segment === 'object' ? segment.key : segment)).join('.')
  return at ? `${at}: ${message}` : message
}

/** Types that JSON turns into `{}`, an object of numbers, or nothing. */
const LOSSY_TYPES = [Map, Set, WeakMap, WeakSet, ArrayBuffer, RegExp, Error, Promise] as const

/**
 * Throws {@link ArgumentError}, with the path, for values that `JSON.stringify` would silently change or omit.
 * `undefined` properties may be omitted, like optional ones. For values with `toJSON`, such as a Date, the result of
 * `toJSON` is checked.
 */
function checkLossless(value: unknown): void {
  checkValue(value, '', new Set())
}

/** @param ancestors - stops at circular references, which `JSON.stringify` reports */
function checkValue(value: unknown, path: string, ancestors: Set<object>): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw lossError(String(value), path)
    return
  }
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') {
    throw lossError(typeof value, path)
  }
  if (typeof value !== 'object' || value === null || ancestors.has(value)) return
  // The result of `toJSON` counts separately.
  if (ancestors.size > 2 * MAX_NESTING) throw depthError()
  // JSON unwraps boxed numbers.
  if (hasTag(value, 'Number')) checkValue(value.valueOf(), path, ancestors)
  ancestors.add(value)
  if ('toJSON' in value && typeof value.toJSON === 'function')
    checkConverted(value, value.toJSON(lastSegment(path)), path, ancestors)
  else checkContent(value, path, ancestors)
  ancestors.delete(value)
}

/** Checks a result of `toJSON`, on which JSON does not call `toJSON` again. */
function checkConverted(from: object, converted: unknown, path: string, ancestors: Set<object>): void {
  if (hasTag(from, 'Date') && converted === null) throw lossError('invalid Date', path)
  if (converted === undefined && (path === '' || path.endsWith(']'))) throw lossError('undefined', path)
  if (typeof converted === 'object' && converted !== null && !ancestors.has(converted)) {
    ancestors.add(converted)
    checkContent(converted, path, ancestors)
    ancestors.delete(converted)
  } else if (converted !== from) checkValue(converted, path, ancestors)
}

function checkContent(value: object, path: string, ancestors: Set<object>): void {
  // This check comes first, because Node adds symbols to a Promise while async hooks are active.
  if (ArrayBuffer.isView(value) || LOSSY_TYPES.some(type => value instanceof type || hasTag(value, type.name))) {
    throw lossError(value.constructor.name, path)
  }
  const symbol = Object.getOwnPropertySymbols(value).find(name =>
    Object.prototype.propertyIsEnumerable.call(value, name),
  )
  if (symbol !== undefined) throw lossError('property that is a symbol', `${path}[${String(symbol)}]`)
  if (Array.isArray(value)) checkArray(value, path, ancestors)
  else checkProperties(value, path, ancestors)
}

function checkArray(items: readonly unknown[], path: string, ancestors: Set<object>): void {
  // Loops by index, because iteration methods skip holes, which become null.
  for (let i = 0; i < items.length; i++) {
    if (items[i] === undefined) throw lossError('undefined', `${path}[${i}]`)
    checkValue(items[i], `${path}[${i}]`, ancestors)
  }
  const names = Object.keys(items)
  if (names.length > items.length) throw lossError('array with a property', `${path}.${names[items.length]}`)
}

function checkProperties(value: object, path: string, ancestors: Set<object>): void {
  for (const [name, property] of Object.entries(value))
    checkValue(property, path === '' ? name : `${path}.${name}`, ancestors)
}

const lastSegment = (path: string): string => /[^.[\]]*(?=\]?$)/.exec(path)?.[0] ?? ''

const depthError = (): ArgumentError => new ArgumentError(`Expected a JSON value, got one ${TOO_DEEP}`)

const lossError = (type: string, path: string): ArgumentError =>
  new ArgumentError(`JSON has no ${type}${path === '' ? '' : ` (at ${path})`}: write it as text or a plain object`)
