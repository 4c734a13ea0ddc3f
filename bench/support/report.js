/**
 * A measured number with its unit. Times and ratios are printed with two decimals.
 *
 * @typedef {{ value: number, unit: '/s' | 'x' | 'ms' | 'µs' | 'B' }} Quantity
 * @typedef {string | number | Quantity} Cell
 * @typedef {{ title: string, rows: Record<string, Cell>[] }} Table
 */

/** @param {Quantity['unit']} unit @returns {(value: number) => Quantity} */
const quantity = unit => value => ({ value, unit })
export const perSecond = quantity('/s')
export const times = quantity('x')
export const ms = quantity('ms')
export const microseconds = quantity('µs')
export const bytes = quantity('B')

/** @param {readonly number[]} numbers @param {number} share - 0.5 for the median */
export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** @param {readonly number[]} numbers */
export const median = numbers => quantile(numbers, 0.5)

/** @param {readonly number[]} numbers */
export const spread = numbers => Math.max(...numbers) - Math.min(...numbers)

/** @param {Cell} cell */
function format(cell) {
  if (typeof cell !== 'object') return typeof cell === 'number' ? cell.toLocaleString('en') : cell
  const { value, unit } = cell
  if (unit === 'x') return `${value.toFixed(2)}x`
  if (unit === 'ms' || unit === 'µs') return `${value.toFixed(value < 100 ? 2 : 0)} ${unit}`
  return `${Math.round(value).toLocaleString('en')}${unit === 'B' ? ' B' : unit}`
}

/**
 * Prints a table with the columns of all rows, the first left-aligned and the others right-aligned.
 *
 * @param {Table} table
 */
export function printTable({ title, rows }) {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const lines = [columns, ...rows.map(row => columns.map(column => format(row[column] ?? '')))]
  const widths = columns.map((_, i) => Math.max(...lines.map(line => line[i]?.length ?? 0)))
  const pad = (/** @type {string} */ cell, /** @type {number} */ i) =>
    i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)
  console.log(`\n${title}`)
  for (const line of lines) console.log(`  ${line.map(pad).join('  ')}`)
}

const started = performance.now()

/**
 * Shows the current step in one line, which the next step overwrites. Does nothing without a terminal.
 *
 * @param {string} text
 */
export function progress(text) {
  if (!process.stderr.isTTY) return
  const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(4)
  process.stderr.write(
    text === '' ? `\r${' '.repeat(100)}\r` : `\r${`${seconds} s  ${text}`.padEnd(100).slice(0, 100)}`,
  )
}
