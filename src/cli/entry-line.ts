import { displayText, fromUtf8, toHex } from '../base/bytes.js'
import type { Entry } from '../index.js'
import { type Colors, oneLine, timeOfDay } from './text.js'

const VERSION_WIDTH = '1696374425000:0:StateStore'.length
/** Everything beside key and value: time, operation, version, source, and blanks between six columns. */
const OTHER_WIDTH = 12 + 6 + VERSION_WIDTH + 12 + 5 * 2
const LEAST_VALUE_WIDTH = 12
const LEAST_SHOWN = 4
/** Where the width is not known, because the output is no terminal. */
const VALUE_WIDTH = 60

/** How entries look. */
export interface LineStyle {
  readonly colors: Colors
  /** Width of the terminal, if it is one. */
  readonly columns: number | undefined
  /** Values in Base16. */
  readonly hex: boolean
}

type ToLine = (entry: Entry<Uint8Array>, now: number) => string

/** Lines for people, in columns: local time, key, operation, version, value, source. Columns widen as they must. */
export function entryLines(keys: readonly string[], { colors, columns, hex }: LineStyle): ToLine {
  const keyWidth = Math.max(...keys.map(key => oneLine(key).length))
  const limit = columns ? Math.max(columns - OTHER_WIDTH - keyWidth, LEAST_VALUE_WIDTH) : VALUE_WIDTH
  let [versionWidth, valueWidth] = [VERSION_WIDTH, 0]
  return ({ key, op, version, value, source }, now) => {
    const [versionText, valueText] = [String(version ?? '-'), value ? shortened(value, limit, hex) : '-']
    versionWidth = Math.max(versionWidth, versionText.length)
    valueWidth = Math.max(valueWidth, valueText.length)
    const cells = [
      colors.dim(timeOfDay(now)),
      oneLine(key).padEnd(keyWidth),
      opColor(op, colors)(op.padEnd(6)),
      colors.dim(versionText.padEnd(versionWidth)),
      colors.bold(valueText.padEnd(valueWidth)),
      source === 'notification' ? colors.dim(source) : colors.yellow(source),
    ]
    return `${cells.join('  ')}\n`
  }
}

function opColor(op: Entry<unknown>['op'], { green, red, yellow }: Colors): Colors['green'] {
  return op === 'set' ? green : op === 'delete' ? red : yellow
}

/** A value as one short line: text as it is, other bytes in Base16; of a longer one the beginning and its size. */
export function shortened(value: Uint8Array, limit: number, hex = false): string {
  if (value.length === 0) return '""'
  // A character takes at most four bytes, so this is all that can be shown, of a value that may have megabytes.
  const head = value.subarray(0, 4 * limit)
  const text = oneLine(hex || !isText(value) ? `0x${toHex(head)}` : displayText(head))
  if (head.length === value.length && text.length <= limit) return text
  const size = `… ${value.length} B`
  const kept = Array.from(text).slice(0, Math.max(limit - size.length, LEAST_SHOWN))
  return `${kept.join('')}${size}`
}

function isText(value: Uint8Array): boolean {
  try {
    fromUtf8(value)
    return true
  } catch {
    // Any bytes are a legal value.
    return false
  }
}
