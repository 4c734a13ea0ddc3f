import { fromHex, isWellFormed, utf8 } from '../../../src/core/util/bytes.js'

/** How what is typed becomes bytes. */
export const TYPES = ['text', 'number', 'json', 'hex'] as const

/** One of {@link TYPES}. */
export type ValueType = (typeof TYPES)[number]

/** The bytes of what was typed, or what is wrong with it. */
export type Typed =
  | { readonly bytes: Uint8Array; readonly problem?: undefined }
  | { readonly bytes?: undefined; readonly problem: string }

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

/** Reads what was typed as a value of a type. */
export function typedValue(type: ValueType, typed: string): Typed {
  if (type === 'hex') return hex(typed)
  if (!isWellFormed(typed)) return { problem: 'This text has half a character in it.' }
  if (type === 'number') {
    const digits = typed.trim()
    return DECIMAL.test(digits) ? { bytes: utf8(digits) } : { problem: 'Not a number, such as 21.5 or -3e2.' }
  }
  return type === 'json' ? json(typed) : { bytes: utf8(typed) }
}

/** A length of time typed in seconds, ms; 0 for none, `undefined` for anything else. */
export function typedSeconds(typed: string): number | undefined {
  if (typed.trim() === '') return 0
  const ms = Math.round(Number(typed) * 1_000)
  return Number.isSafeInteger(ms) && ms > 0 ? ms : undefined
}

function hex(typed: string): Typed {
  const bytes = fromHex(typed.replace(/^\s*0x/i, '').replace(/[\s:]/g, ''))
  return bytes ? { bytes } : { problem: 'Not pairs of hexadecimal digits, such as 00 FF 7A.' }
}

function json(typed: string): Typed {
  try {
    JSON.parse(typed)
    return { bytes: utf8(typed) }
  } catch (cause) {
    return { problem: `Not JSON: ${cause instanceof Error ? cause.message : String(cause)}` }
  }
}
