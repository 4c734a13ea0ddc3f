import { displayText, utf8 } from '../../../src/core/util/bytes.js'
import { compactJson, isCompact, spreadJson } from './json-layout.js'
import { type Typed, typedSeconds, typedValue, type ValueType } from './typed-value.js'
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
  /** Whether the text is JSON that is spread over lines to be read, and is stored without those. */
  readonly spread: boolean
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

/**
 * A form to begin with, for a new key or for the value there is.
 *
 * @param expiresIn - what is left of its time to live, ms
 */
export function startDraft(value?: Uint8Array, expiresIn?: number): Draft {
  const expires = expiresIn === undefined ? '' : inSeconds(expiresIn)
  const blank: Draft = { name: '', type: 'text', text: '', expires, condition: 'always', token: '', spread: false }
  if (value === undefined || value.length > LARGEST_EDITED) return blank
  const type = TYPE_OF[show(value).kind]
  // A text area would turn every CR into a line feed.
  const legible = type !== 'hex' && !value.includes(CR) && readable(value) !== undefined
  if (!legible) return { ...blank, type: 'hex', text: hexPairs(value) }
  const text = displayText(value)
  const spread = type === 'json' && isCompact(text)
  return { ...blank, type, text: spread ? spreadJson(text) : text, spread }
}

/** What is wrong with JSON as far as it is typed; text and digits are complete when their writer says so. */
export function earlyProblem({ type, text }: Draft): string | undefined {
  return type === 'json' && text.trim() !== '' ? typedValue(type, text).problem : undefined
}

function stored(type: ValueType, text: string, spread: boolean): Typed {
  const typed = typedValue(type, text)
  return spread && type === 'json' && typed.bytes ? { bytes: utf8(compactJson(text)) } : typed
}

/** Whether it is a text that only hex keeps as it is. */
export function needsHex({ type, text }: Draft): boolean {
  const { bytes } = typedValue(type, text)
  return bytes?.includes(CR) === true && readable(bytes) !== undefined
}

/** The same value in the words of another type, where it has any. */
export function retyped(draft: Draft, type: ValueType): Draft {
  const { bytes } = stored(draft.type, draft.text, draft.spread)
  if (bytes === undefined || type === draft.type) return { ...draft, type }
  if (type === 'hex') return { ...draft, type, text: hexPairs(bytes) }
  const isOther = draft.type === 'hex' || draft.spread
  return { ...draft, type, text: isOther ? (readable(bytes) ?? draft.text) : draft.text }
}

/** Seconds as they are typed, no less than is left: a form that is filled in takes longer than what is rounded. */
export const inSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))

/** Reads a form. */
export function readDraft({ name, type, text, expires, condition, token, spread }: Draft): Reading {
  const { bytes, problem } = stored(type, text, spread)
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
