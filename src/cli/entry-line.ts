import type { Entry } from '../client/index.js'
import { displayText, fromUtf8, toHex } from '../core/util/bytes.js'
import { type KeyArgument, shellWord } from './key-text.js'
import { type Colors, fitColumns, GAP, oneLine, timeOfDay } from './terminal.js'

/** Optional columns with their minimum widths. A narrow terminal drops the last column first. */
const BESIDE = { op: 7, time: 12, source: 12, version: '1696374425000:0:StateStore'.length }
const MIN_SHOWN = 4
/** Maximum width to which values are padded. */
const MAX_ALIGNED_WIDTH = 60

export interface LineStyle {
  readonly colors: Colors
  /** Width of the terminal; with `undefined`, nothing is shortened. */
  readonly columns: number | undefined
  /** Whether values are shown in Base16. */
  readonly hex: boolean
}

type ToLine = (entry: Entry<Uint8Array>, now: number, word?: KeyArgument) => string

/**
 * Formats entries in columns: local time, key, operation, version, value, source. Columns only grow; columns that leave
 * too little space for the value are dropped.
 */
export function entryLines(keys: readonly KeyArgument[], { colors, columns, hex }: LineStyle): ToLine {
  const keyWidth = Math.max(...keys.map(key => shellWord(key).length))
  const { columns: visibleColumns, valueWidth: room } = fitColumns(columns, keyWidth, BESIDE)
  let [versionWidth, valueWidth] = [BESIDE.version, 0]
  return (entry, now, word = entry.key) => {
    const { op, version, value, source } = entry
    const [versionText, valueText] = [String(version ?? '-'), value ? shortened(value, room, hex) : '-']
    versionWidth = Math.max(versionWidth, versionText.length)
    valueWidth = Math.max(valueWidth, Math.min(valueText.length, Math.max(MAX_ALIGNED_WIDTH, columns ?? 0)))
    const cells = [
      visibleColumns.has('time') && colors.dim(timeOfDay(now)),
      shellWord(word).padEnd(keyWidth),
      visibleColumns.has('op') && opColor(op, colors)(opWord(entry).padEnd(BESIDE.op)),
      visibleColumns.has('version') && colors.dim(versionText.padEnd(versionWidth)),
      colors.bold(visibleColumns.has('source') ? valueText.padEnd(valueWidth) : valueText),
      visibleColumns.has('source') && (source === 'notification' ? colors.dim(source) : colors.yellow(source)),
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
 * Formats a value on one line, as text, or in Base16 if it is not text. A longer value is shown by its beginning and
 * its size.
 */
export function shortened(value: Uint8Array, limit: number, hex = false): string {
  if (value.length === 0) return '""'
  // A character has at most four bytes, so a value of megabytes need not be decoded as a whole.
  const head = value.subarray(0, 4 * limit)
  const text = oneLine(hex || !isText(value) ? `0x${toHex(head)}` : displayText(head))
  if (head.length === value.length && text.length <= limit) return text
  const size = `… ${value.length} B`
  const beginning = Array.from(text).slice(0, Math.max(limit - size.length, MIN_SHOWN))
  return `${beginning.join('')}${size}`
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
