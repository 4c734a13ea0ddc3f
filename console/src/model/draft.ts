import { displayText, utf8 } from '../../../src/core/util/bytes.js'
import { compactJson, isCompact, prettyJson } from './json-layout.js'
import { type ParsedValue, parseSecondsAsMs, parseValue, type ValueType } from './typed-value.js'
import { decodeReadable, hexPairs, previewValue } from './value.js'

export type Condition = 'always' | 'ifAbsent' | 'ifAbsentOrEqual'

export interface Draft {
  readonly name: string
  readonly type: ValueType
  readonly text: string
  /** Time to live in seconds; empty for none. */
  readonly expires: string
  readonly condition: Condition
  readonly token: string
  /** Whether the JSON was pretty-printed for editing and must be stored in compact form. */
  readonly isPrettyPrinted: boolean
}

export type DraftResult =
  | { readonly write: DraftWrite; readonly problems?: undefined }
  | { readonly write?: undefined; readonly problems: Partial<Record<'name' | 'text' | 'expires' | 'token', string>> }

export interface DraftWrite {
  readonly name: string
  readonly value: Uint8Array
  readonly options: {
    readonly expiresIn?: number
    readonly ifAbsent?: boolean
    readonly ifAbsentOrEqual?: boolean
    readonly fencingToken?: string
  }
}

export const MAX_EDITABLE_BYTES = 262_144

const TYPE_OF = { empty: 'text', number: 'number', boolean: 'text', json: 'json', text: 'text', binary: 'hex' } as const
const CR = 0x0d
const TOKEN = /^\d+:\d+:[^:]+$/

/**
 * Creates the form for a new key, or for editing a value.
 *
 * @param expiresIn - remaining time to live, ms
 */
export function startDraft(value?: Uint8Array, expiresIn?: number): Draft {
  const expires = expiresIn === undefined ? '' : toWholeSeconds(expiresIn)
  const blank: Draft = {
    name: '',
    type: 'text',
    text: '',
    expires,
    condition: 'always',
    token: '',
    isPrettyPrinted: false,
  }
  if (value === undefined || value.length > MAX_EDITABLE_BYTES) return blank
  const type = TYPE_OF[previewValue(value).kind]
  // A value with CR is not edited as text, because a text area would convert each CR to a line feed.
  const isText = type !== 'hex' && !value.includes(CR) && decodeReadable(value) !== undefined
  if (!isText) return { ...blank, type: 'hex', text: hexPairs(value) }
  const text = displayText(value)
  const isPrettyPrinted = type === 'json' && isCompact(text)
  return { ...blank, type, text: isPrettyPrinted ? prettyJson(text) : text, isPrettyPrinted }
}

/** Returns the problem of JSON while it is being typed. Text, numbers and hex are validated on submit. */
export function liveProblem({ type, text }: Draft): string | undefined {
  return type === 'json' && text.trim() !== '' ? parseValue(type, text).problem : undefined
}

function parseDraftValue(type: ValueType, text: string, isPrettyPrinted: boolean): ParsedValue {
  const parsed = parseValue(type, text)
  return isPrettyPrinted && type === 'json' && parsed.bytes ? { bytes: utf8(compactJson(text)) } : parsed
}

export function needsHex({ type, text }: Draft): boolean {
  const { bytes } = parseValue(type, text)
  return bytes?.includes(CR) === true && decodeReadable(bytes) !== undefined
}

/** Converts the text to another type if that type can represent it. */
export function convertDraft(draft: Draft, type: ValueType): Draft {
  const { bytes } = parseDraftValue(draft.type, draft.text, draft.isPrettyPrinted)
  if (bytes === undefined || type === draft.type) return { ...draft, type }
  if (type === 'hex') return { ...draft, type, text: hexPairs(bytes) }
  const needsText = draft.type === 'hex' || draft.isPrettyPrinted
  return { ...draft, type, text: needsText ? (decodeReadable(bytes) ?? draft.text) : draft.text }
}

/** Rounds up to whole seconds, because filling in the form takes time. */
export const toWholeSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))

export function parseDraft({ name, type, text, expires, condition, token, isPrettyPrinted }: Draft): DraftResult {
  const { bytes, problem } = parseDraftValue(type, text, isPrettyPrinted)
  const expiresIn = parseSecondsAsMs(expires)
  const problems = {
    ...(name === '' && { name: 'Must not be empty.' }),
    ...(problem !== undefined && { text: problem }),
    ...(expiresIn === undefined && { expires: 'Must be a positive number, or empty.' }),
    ...(token !== '' && !TOKEN.test(token) && { token: 'Must be a version, such as 1696374425000:1:StateStore.' }),
  }
  if (bytes === undefined || Object.keys(problems).length > 0) return { problems }
  const options = {
    ...(expiresIn && { expiresIn }),
    ...(condition !== 'always' && { [condition]: true }),
    ...(token !== '' && { fencingToken: token }),
  }
  return { write: { name, value: bytes, options } }
}
