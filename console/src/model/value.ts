import { fromUtf8, toHex } from '../../../src/core/util/bytes.js'

export type Kind = 'empty' | 'number' | 'boolean' | 'json' | 'text' | 'binary'

export interface ValuePreview {
  readonly kind: Kind
  readonly line: string
  readonly number: number | undefined
}

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i
/** Number of bytes that are inspected. Of a larger value only the beginning is inspected. */
const MAX_INSPECTED_BYTES = 65_536
const MAX_LINE_CHARS = 240
const MAX_HEX_BYTES = 48

export function previewValue(bytes: Uint8Array): ValuePreview {
  if (bytes.length === 0) return { kind: 'empty', line: '(empty)', number: undefined }
  const text = decodeReadable(bytes)
  if (text === undefined) return { kind: 'binary', line: hexLine(bytes), number: undefined }
  const kind = detectKind(text, bytes.length)
  return { kind, line: oneLine(text), number: kind === 'number' ? Number(text) : undefined }
}

/** Decodes readable text. Returns `undefined` for any other bytes. Only the beginning of a large value is decoded. */
export function decodeReadable(bytes: Uint8Array): string | undefined {
  const text = tryDecode(
    bytes.length > MAX_INSPECTED_BYTES ? trimPartialCharacter(bytes.subarray(0, MAX_INSPECTED_BYTES)) : bytes,
  )
  return text === undefined || CONTROLS.test(text) ? undefined : text
}

/** Formats bytes as hex pairs, such as `00 FF`. */
export const hexPairs = (bytes: Uint8Array): string => toHex(bytes).replace(/..(?=.)/g, '$& ')

// Matches all control characters except line breaks and tabs.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

function tryDecode(bytes: Uint8Array): string | undefined {
  try {
    return fromUtf8(bytes)
  } catch {
    // The bytes are not UTF-8, so the value is shown as hex.
    return undefined
  }
}

/** Removes an incomplete UTF-8 sequence at the end. */
function trimPartialCharacter(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > bytes.length - 4 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--
  return (bytes[end - 1] ?? 0) >= 0xc0 ? bytes.subarray(0, end - 1) : bytes
}

function detectKind(text: string, length: number): Kind {
  const trimmed = text.trim()
  if (trimmed.length < 400 && DECIMAL.test(trimmed) && Number.isFinite(Number(trimmed))) return 'number'
  if (trimmed === 'true' || trimmed === 'false') return 'boolean'
  return /^[[{"n]/.test(trimmed) && length <= MAX_INSPECTED_BYTES && isJson(trimmed) ? 'json' : 'text'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // The text is not JSON, so it is shown as plain text.
    return false
  }
}

function oneLine(text: string): string {
  const line = text
    .slice(0, 2 * MAX_LINE_CHARS)
    .trim()
    .replace(/\s*\n\s*/g, ' ')
  return text.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line
}

const hexLine = (bytes: Uint8Array): string =>
  bytes.length > MAX_HEX_BYTES ? `${hexPairs(bytes.subarray(0, MAX_HEX_BYTES))} …` : hexPairs(bytes)
