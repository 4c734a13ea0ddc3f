import type { Entry } from '../client/index.js'
import { displayText, fromUtf8, toHex } from '../core/util/bytes.js'
import { type KeyArgument, shellWord } from './key-text.js'
import { type Colors, fitColumns, GAP, oneLine, padTo, startOf, tailOf, textWidth, timeOfDay } from './terminal.js'

/** Minimum width of the version. */
const VERSION_WIDTH = '1696374425000:0:StateStore'.length
/** Widths of the other columns. */
const WIDTHS = { op: 7, time: 12, source: 12 }
/** Minimum number of characters of a value that is shown with its size. */
const MIN_SHOWN = 4
/** Maximum width to which values are padded. */
const MAX_ALIGNED_WIDTH = 60

export interface LineStyle {
  readonly colors: Colors
  /** Width of the terminal, which may change; with `undefined`, nothing is shortened. */
  readonly columns: number | undefined
  /** Whether values are shown in Base16. */
  readonly hex: boolean
}

type ToLine = (entry: Entry<Uint8Array>, now: number, word?: KeyArgument) => string

/**
 * Formats entries in columns: local time, key, operation, version, value, source. Columns only grow; columns that leave
 * too little space for the value are dropped, the last column first. A line never exceeds the terminal: values are
 * shortened to their beginning, and keys to their end.
 */
export function entryLines(keys: readonly KeyArgument[], style: LineStyle): ToLine {
  const { colors, hex } = style
  let keyWidth = keys.reduce((width, key) => Math.max(width, textWidth(shellWord(key))), 0)
  let [versionWidth, valueWidth] = [VERSION_WIDTH, 0]
  return (entry, now, word = entry.key) => {
    const { op, version, value, source } = entry
    const { columns } = style
    const versionText = String(version ?? '-')
    keyWidth = Math.max(keyWidth, textWidth(shellWord(word)))
    versionWidth = Math.max(versionWidth, versionText.length)
    const { op: opWidth, time, source: sourceWidth } = WIDTHS
    const beside = { op: opWidth, time, source: sourceWidth, version: versionWidth }
    const fitted = fitColumns(columns, keyWidth, beside)
    const valueText = value ? shortened(value, fitted.valueWidth, hex) : '-'
    const alignedWidth = Math.min(fitted.valueWidth, Math.max(MAX_ALIGNED_WIDTH, columns ?? 0))
    valueWidth = Math.min(Math.max(valueWidth, textWidth(valueText)), alignedWidth)
    const has = (column: keyof typeof beside): boolean => fitted.columns.has(column)
    const cells = [
      has('time') && colors.dim(timeOfDay(now)),
      padTo(tailOf(shellWord(word), fitted.keyWidth), fitted.keyWidth),
      has('op') && opColor(op, colors)(opWord(entry).padEnd(opWidth)),
      has('version') && colors.dim(versionText.padEnd(versionWidth)),
      colors.bold(has('source') ? padTo(valueText, valueWidth) : valueText),
      has('source') && (source === 'notification' ? colors.dim(source) : colors.yellow(source)),
    ]
    return `${cells.filter(cell => cell !== false).join(GAP)}\n`
  }
}

const opWord = (entry: Entry<unknown>): string =>
  entry.op === 'delete' && entry.reason === 'expired' ? 'expired' : entry.op

function opColor(op: Entry<unknown>['op'], { green, red, yellow }: Colors): Colors['green'] {
  return op === 'set' ? green : op === 'delete' ? red : yellow
}

/**
 * Formats a value on one line, as text, or in Base16 if it is not text. A longer value is shown by its beginning and,
 * if there is space, its size.
 */
export function shortened(value: Uint8Array, limit: number, hex = false): string {
  if (value.length === 0) return '""'
  // A character has at most four bytes, so a value of megabytes need not be decoded as a whole.
  const head = value.subarray(0, 4 * limit)
  const text = oneLine(hex || !isText(value) ? `0x${toHex(head)}` : displayText(head))
  if (head.length === value.length && textWidth(text) <= limit) return text
  const size = `… ${value.length} B`
  const room = limit - size.length
  return room < MIN_SHOWN ? `${startOf(text, limit - 1)}…` : `${startOf(text, room)}${size}`
}

function isText(value: Uint8Array): boolean {
  try {
    fromUtf8(value)
    return true
  } catch {
    // Bytes that are not text are a legal value.
    return false
  }
}
