import type { Entry } from '../client/index.js'
import { displayText, fromUtf8, toHex } from '../core/util/bytes.js'
import { type KeyArgument, shellWord } from './key-text.js'
import { type Colors, fitColumns, GAP, oneLine, timeOfDay } from './terminal.js'

/** Columns beside key and value, and their widths at least; in a narrow terminal they go, the last one first. */
const BESIDE = { op: 7, time: 12, source: 12, version: '1696374425000:0:StateStore'.length }
const LEAST_SHOWN = 4
/** Up to which columns behind a value are aligned where it is not shortened. */
const ALIGNED = 60

/** How entries look. */
export interface LineStyle {
  readonly colors: Colors
  /** Width of the terminal, if it is one; nothing is shortened elsewhere. */
  readonly columns: number | undefined
  /** Values in Base16. */
  readonly hex: boolean
}

type ToLine = (entry: Entry<Uint8Array>, now: number, word?: KeyArgument) => string

/**
 * Lines for people, in columns: local time, key, operation, version, value, source. Columns widen as they must; where
 * there is no room for a value, the others make it.
 */
export function entryLines(keys: readonly KeyArgument[], { colors, columns, hex }: LineStyle): ToLine {
  const keyWidth = Math.max(...keys.map(key => shellWord(key).length))
  const { shown, room } = fitColumns(columns, keyWidth, BESIDE)
  let [versionWidth, valueWidth] = [BESIDE.version, 0]
  return (entry, now, word = entry.key) => {
    const { op, version, value, source } = entry
    const [versionText, valueText] = [String(version ?? '-'), value ? shortened(value, room, hex) : '-']
    versionWidth = Math.max(versionWidth, versionText.length)
    valueWidth = Math.max(valueWidth, Math.min(valueText.length, Math.max(ALIGNED, columns ?? 0)))
    const cells = [
      shown.has('time') && colors.dim(timeOfDay(now)),
      shellWord(word).padEnd(keyWidth),
      shown.has('op') && opColor(op, colors)(opWord(entry).padEnd(BESIDE.op)),
      shown.has('version') && colors.dim(versionText.padEnd(versionWidth)),
      colors.bold(shown.has('source') ? valueText.padEnd(valueWidth) : valueText),
      shown.has('source') && (source === 'notification' ? colors.dim(source) : colors.yellow(source)),
    ]
    return `${cells.filter(cell => cell !== false).join(GAP)}\n`
  }
}

/** A key whose time was over was not deleted, for people. */
const opWord = (entry: Entry<unknown>): string =>
  entry.op === 'delete' && entry.reason === 'expired' ? 'expired' : entry.op

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
