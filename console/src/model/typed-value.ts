import { fromHex, isWellFormed, utf8 } from '../../../src/core/util/bytes.js'

export const VALUE_TYPES = ['text', 'number', 'json', 'hex'] as const

export type ValueType = (typeof VALUE_TYPES)[number]

export type ParsedValue =
  | { readonly bytes: Uint8Array; readonly problem?: undefined }
  | { readonly bytes?: undefined; readonly problem: string }

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

export function parseValue(type: ValueType, text: string): ParsedValue {
  if (type === 'hex') return parseHex(text)
  if (!isWellFormed(text)) return { problem: 'Invalid Unicode.' }
  if (type === 'number') {
    const digits = text.trim()
    return DECIMAL.test(digits) ? { bytes: utf8(digits) } : { problem: 'Must be a number, such as 21.5 or -3e2.' }
  }
  return type === 'json' ? parseJson(text) : { bytes: utf8(text) }
}

/** Parses a number of seconds and returns ms: 0 for empty text, `undefined` for invalid text. */
export function parseSecondsAsMs(text: string): number | undefined {
  if (text.trim() === '') return 0
  const ms = Math.round(Number(text) * 1_000)
  return Number.isSafeInteger(ms) && ms > 0 ? ms : undefined
}

function parseHex(text: string): ParsedValue {
  const bytes = fromHex(text.replace(/^\s*0x/i, '').replace(/[\s:]/g, ''))
  return bytes ? { bytes } : { problem: 'Must be pairs of hex digits, such as 00 FF 7A.' }
}

function parseJson(text: string): ParsedValue {
  try {
    JSON.parse(text)
    return { bytes: utf8(text) }
  } catch (cause) {
    return { problem: `Invalid JSON: ${cause instanceof Error ? cause.message : String(cause)}` }
  }
}
