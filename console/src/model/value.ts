import { fromUtf8, toHex } from '../../../src/core/util/bytes.js'

/** What a value looks like to people. */
export type Kind = 'empty' | 'number' | 'boolean' | 'json' | 'text' | 'binary'

/** A value as one line, cut where it is long. */
export interface ValuePreview {
  readonly kind: Kind
  readonly line: string
  /** Of a value of kind `number`. */
  readonly number: number | undefined
}

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i
/** Values beyond this are looked at by their beginning alone, bytes. */
const LARGE = 65_536
const LONGEST_LINE = 240
const LONGEST_HEX = 48

/** How to show a value in a line. */
export function show(bytes: Uint8Array): ValuePreview {
  if (bytes.length === 0) return { kind: 'empty', line: '(empty)', number: undefined }
  const text = readable(bytes)
  if (text === undefined) return { kind: 'binary', line: hexLine(bytes), number: undefined }
  const kind = kindOf(text, bytes.length)
  return { kind, line: oneLine(text), number: kind === 'number' ? Number(text) : undefined }
}

/**
 * The text of bytes that are one people can read, or else `undefined`. Of a large value only the beginning is read.
 */
export function readable(bytes: Uint8Array): string | undefined {
  const text = decoded(bytes.length > LARGE ? wholeCharacters(bytes.subarray(0, LARGE)) : bytes)
  return text === undefined || CONTROLS.test(text) ? undefined : text
}

/** Bytes in pairs of digits, such as `00 FF`. */
export const hexPairs = (bytes: Uint8Array): string => toHex(bytes).replace(/..(?=.)/g, '$& ')

// Text has line ends and tabs, and none of the others.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return fromUtf8(bytes)
  } catch {
    // Anything but UTF-8 is shown as bytes.
    return undefined
  }
}

/** Without the first bytes of a character whose last ones were cut off. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > bytes.length - 4 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--
  return (bytes[end - 1] ?? 0) >= 0xc0 ? bytes.subarray(0, end - 1) : bytes
}

function kindOf(text: string, length: number): Kind {
  const trimmed = text.trim()
  if (trimmed.length < 400 && DECIMAL.test(trimmed) && Number.isFinite(Number(trimmed))) return 'number'
  if (trimmed === 'true' || trimmed === 'false') return 'boolean'
  return /^[[{"n]/.test(trimmed) && length <= LARGE && isJson(trimmed) ? 'json' : 'text'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // Then it is text.
    return false
  }
}

function oneLine(text: string): string {
  const line = text
    .slice(0, 2 * LONGEST_LINE)
    .trim()
    .replace(/\s*\n\s*/g, ' ')
  return text.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line
}

const hexLine = (bytes: Uint8Array): string =>
  bytes.length > LONGEST_HEX ? `${hexPairs(bytes.subarray(0, LONGEST_HEX))} …` : hexPairs(bytes)
