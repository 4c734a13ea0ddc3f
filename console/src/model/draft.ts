import { displayText } from '../../../src/base/bytes.js'
import { typedSeconds, typedValue, type ValueType } from './typed-value.js'
import { hexPairs, readable, show } from './value.js'

/** When a value is to be written. */
export type Condition = 'always' | 'ifAbsent' | 'ifAbsentOrEqual'

/** A form to set a key, as it was filled in. */
export interface Draft {
  readonly name: string
  readonly type: ValueType
  readonly text: string
  /** Time to live, seconds; empty for none. */
  readonly expires: string
  readonly condition: Condition
  readonly token: string
}

/** What is to be written, or what is wrong in which field. */
export type Reading =
  | { readonly write: Write; readonly problems?: undefined }
  | { readonly write?: undefined; readonly problems: Partial<Record<'name' | 'text' | 'expires' | 'token', string>> }

/** A write. */
export interface Write {
  readonly name: string
  readonly value: Uint8Array
  readonly options: {
    readonly expiresIn?: number
    readonly ifAbsent?: boolean
    readonly ifAbsentOrEqual?: boolean
    readonly fencingToken?: string
  }
}

/** Larger values are not edited on a page, bytes. */
export const LARGEST_EDITED = 262_144

const TYPE_OF = { empty: 'text', number: 'number', boolean: 'text', json: 'json', text: 'text', binary: 'hex' } as const
const CR = 0x0d
const TOKEN = /^\d+:\d+:[^:]+$/

/** A form to begin with, for a new key or for the value there is. */
export function startDraft(value?: Uint8Array): Draft {
  const blank: Draft = { name: '', type: 'text', text: '', expires: '', condition: 'always', token: '' }
  if (value === undefined || value.length > LARGEST_EDITED) return blank
  const type = TYPE_OF[show(value).kind]
  // A text area would turn every CR into a line feed.
  const legible = type !== 'hex' && !value.includes(CR) && readable(value) !== undefined
  return { ...blank, type: legible ? type : 'hex', text: legible ? displayText(value) : hexPairs(value) }
}

/** Whether it is a text that only hex keeps as it is. */
export function needsHex({ type, text }: Draft): boolean {
  const { bytes } = typedValue(type, text)
  return bytes?.includes(CR) === true && readable(bytes) !== undefined
}

/** The same value in the words of another type, where it has any. */
export function retyped(draft: Draft, type: ValueType): Draft {
  const { bytes } = typedValue(draft.type, draft.text)
  if (bytes === undefined || type === draft.type) return { ...draft, type }
  if (type === 'hex') return { ...draft, type, text: hexPairs(bytes) }
  return { ...draft, type, text: draft.type === 'hex' ? (readable(bytes) ?? draft.text) : draft.text }
}

/** Reads a form. */
export function readDraft({ name, type, text, expires, condition, token }: Draft): Reading {
  const { bytes, problem } = typedValue(type, text)
  const expiresIn = typedSeconds(expires)
  const problems = {
    ...(name === '' && { name: 'A key has at least one character.' }),
    ...(problem !== undefined && { text: problem }),
    ...(expiresIn === undefined && { expires: 'Seconds, more than none; empty for ever.' }),
    ...(token !== '' && !TOKEN.test(token) && { token: 'Not a version, such as 1696374425000:1:StateStore.' }),
  }
  if (bytes === undefined || Object.keys(problems).length > 0) return { problems }
  const options = {
    ...(expiresIn && { expiresIn }),
    ...(condition !== 'always' && { [condition]: true }),
    ...(token !== '' && { fencingToken: token }),
  }
  return { write: { name, value: bytes, options } }
}
