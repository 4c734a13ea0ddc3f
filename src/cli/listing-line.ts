import { inUnits } from './duration.js'
import { shortened } from './entry-line.js'
import { fitting, GAP } from './fitting.js'
import { jsonLine, keyMember, valueMember } from './json.js'
import { keyLine, shellWord } from './key-text.js'
import type { Row } from './listing.js'
import type { Colors } from './text.js'

/** How rows look. */
export interface ListingStyle {
  readonly json: boolean
  /** Values in Base16. */
  readonly hex: boolean
  readonly isTTY: boolean
  /** Width of the terminal. */
  readonly columns: number | undefined
  readonly colors: Colors
  /** Whether it is known when keys expire. */
  readonly expiry: boolean
  /** ms since 1970 */
  now(): number
}

const NEVER = '-'
const VERSION_WIDTH = '1696374425000:0:StateStore'.length
const EXPIRY_WIDTH = '23h 59m'.length

/** Turns rows into lines. In columns, those of one call are aligned with all before. */
export function listingLines(style: ListingStyle): (rows: readonly Row[]) => string {
  if (style.json) return rows => rows.map(row => jsonOf(row, style)).join('')
  return style.isTTY ? inColumns(style) : rows => rows.map(row => withTabs(row, style)).join('')
}

const jsonOf = ({ key, value, version, expiresAt }: Row, { hex }: ListingStyle): string =>
  jsonLine({ ...keyMember(key), ...valueMember(value, hex), version, expiresAt })

function withTabs({ key, value, version = NEVER, expiresAt }: Row, { hex, expiry }: ListingStyle): string {
  const cells = [keyLine(key), shortened(value, Number.POSITIVE_INFINITY, hex), version]
  if (expiry) cells.push(expiresAt === undefined ? NEVER : new Date(expiresAt).toISOString())
  return `${cells.join('\t')}\n`
}

function inColumns({ columns, colors, expiry, hex, now }: ListingStyle): (rows: readonly Row[]) => string {
  let [keyWidth, valueWidth, expiryWidth] = [0, 0, EXPIRY_WIDTH]
  return rows => {
    const cells = rows.map(({ key, value, version = NEVER, expiresAt }) => ({
      key: shellWord(key),
      value,
      version,
      expiry: expiresAt === undefined ? NEVER : inUnits(expiresAt - now()),
    }))
    keyWidth = cells.reduce((width, { key }) => Math.max(width, key.length), keyWidth)
    expiryWidth = cells.reduce((width, cell) => Math.max(width, cell.expiry.length), expiryWidth)
    const { shown, room } = fitting(columns, keyWidth, {
      expiry: expiry ? expiryWidth : undefined,
      version: VERSION_WIDTH,
    })
    const lines = cells.map(cell => ({ ...cell, value: shortened(cell.value, room, hex) }))
    valueWidth = lines.reduce((width, { value }) => Math.max(width, value.length), valueWidth)
    const lineOf = (line: (typeof lines)[number]): string =>
      [
        line.key.padEnd(keyWidth),
        colors.bold(shown.size > 0 ? line.value.padEnd(valueWidth) : line.value),
        shown.has('expiry') && colors.yellow(shown.has('version') ? line.expiry.padEnd(expiryWidth) : line.expiry),
        shown.has('version') && colors.dim(line.version),
      ]
        .filter(cell => cell !== false)
        .join(GAP)
    return lines.map(line => `${lineOf(line)}\n`).join('')
  }
}
