import type { SetOptions } from '../../client/keys/options.js'
import { isBytes } from '../../core/util/built-in-types.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { memberText } from '../wire/json.js'

/** The data of an event that writes a key. */
export interface KeySet<T = unknown> {
  readonly key: string
  readonly value: T
  readonly options?: Pick<SetOptions, 'ifAbsent' | 'ifAbsentOrEqual' | 'expiresIn' | 'persist'> & KeyDelete['options']
  readonly id?: string | number
}

/** The data of an event that deletes a key. */
export interface KeyDelete {
  readonly key: string
  /** The fencing token in wire form. See `Hlc`. */
  readonly options?: { readonly fencingToken?: string }
  /** The write's id. With an id, the client gets a server message with the id and the write's version. */
  readonly id?: string | number
}

export interface WriteRequest {
  readonly key: string
  readonly value: unknown
  readonly options: SetOptions
  readonly id: string | number | undefined
}

type Checks = Readonly<Record<string, 'boolean' | 'number' | 'string'>>
type Members = Readonly<Record<string, unknown>>

const DELETE_OPTIONS: Checks = { fencingToken: 'string' }
const SET_OPTIONS: Checks = {
  ...DELETE_OPTIONS,
  ifAbsent: 'boolean',
  ifAbsentOrEqual: 'boolean',
  expiresIn: 'number',
  persist: 'boolean',
}

/**
 * Returns the key of a write without parsing the rest, which can take long, so that the permission is checked first.
 * Throws {@link ArgumentError} if there is none.
 */
export function readKey(json: string | undefined): string {
  const type = json === undefined ? 'undefined' : typeNameOfText(json)
  if (json === undefined || type !== 'object')
    throw new ArgumentError(`Expected the data to be a JSON object, got ${type}`)
  const text = memberText(json, 'key')
  const keyType = text === undefined ? 'undefined' : typeNameOfText(text)
  const key: unknown = text !== undefined && keyType === 'string' ? JSON.parse(text) : undefined
  if (typeof key !== 'string') throw new ArgumentError(`Expected \`key\` to be a string, got ${keyType}`)
  return key
}

const TYPES_BY_START: Readonly<Record<string, string>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  n: 'null',
  t: 'boolean',
  f: 'boolean',
}

/** Returns the type of a valid JSON text. */
const typeNameOfText = (json: string): string => TYPES_BY_START[json.trimStart().charAt(0)] ?? 'number'

/**
 * Reads a write request. Rejects unknown members, because a misspelt condition must not become an unconditional write.
 */
export function readWrite(operation: 'set' | 'delete', data: unknown): WriteRequest {
  const members = checkObject('the data', data)
  const known = operation === 'set' ? ['key', 'value', 'options', 'id'] : ['key', 'options', 'id']
  checkKnown('member', members, known)
  const { key, value, options = {}, id } = members
  if (typeof key !== 'string') throw new ArgumentError(`Expected \`key\` to be a string, got ${typeName(key)}`)
  if (operation === 'set' && value === undefined) throw new ArgumentError('Expected `value` to be set')
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number') {
    throw new ArgumentError(`Expected \`id\` to be a string or a number, got ${typeName(id)}`)
  }
  return { key, value, id, options: checkOptions(options, operation === 'set' ? SET_OPTIONS : DELETE_OPTIONS) }
}

function checkOptions(options: unknown, checks: Checks): SetOptions {
  const members = checkObject('`options`', options)
  checkKnown('option', members, Object.keys(checks))
  for (const [name, value] of Object.entries(members)) {
    if (typeName(value) === checks[name]) continue
    throw new ArgumentError(`Expected \`options.${name}\` to be a ${checks[name]}, got ${typeName(value)}`)
  }
  return members
}

function checkKnown(what: string, members: Members, known: readonly string[]): void {
  const unknown = Object.keys(members).find(name => !known.includes(name))
  if (unknown === undefined) return
  throw new ArgumentError(`Unknown ${what} \`${formatValue(unknown).slice(0, 80)}\`: expected ${known.join(', ')}`)
}

function checkObject(what: string, value: unknown): Members {
  if (typeName(value) === 'object') return Object.fromEntries(Object.entries(Object(value)))
  throw new ArgumentError(`Expected ${what} to be a JSON object, got ${typeName(value)}`)
}

const typeName = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : isBytes(value) ? 'bytes' : typeof value
