import { createColors } from 'picocolors'
import type { Environment } from '../node/environment.js'
import type { Io, Sink } from './io.js'

export type Colors = ReturnType<typeof createColors>

// Control and bidirectional characters, with which a value could rewrite the terminal.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Returns whether a text has characters that {@link oneLine} escapes. */
export const isUnsafe = (text: string): boolean => text.search(UNSAFE) >= 0

/** Escapes line ends and characters that control a terminal. */
export const oneLine = (text: string): string =>
  text.replace(UNSAFE, char => ESCAPES[char] ?? `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)

/**
 * Returns colours for a terminal, and none for other output. `NO_COLOR` and `FORCE_COLOR` override this choice. The
 * default of picocolors would colour pipes in CI jobs.
 */
export function colorsFor(sink: Sink, env: Environment): Colors {
  const { NO_COLOR, FORCE_COLOR, TERM } = env
  if (NO_COLOR) return createColors(false)
  if (FORCE_COLOR) return createColors(FORCE_COLOR !== '0' && FORCE_COLOR !== 'false')
  return createColors(sink.isTTY === true && TERM !== 'dumb')
}

/** Formats a count with its noun, such as `1 key` or `2 keys`. */
export const counted = (count: number, singular: string, plural = `${singular}s`): string =>
  `${count} ${count === 1 ? singular : plural}`

/** Formats the local time of day with milliseconds. */
export function timeOfDay(now: number): string {
  const date = new Date(now)
  const pad = (value: number, length: number): string => String(value).padStart(length, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(part => pad(part, 2)).join(':')
  return `${time}.${pad(date.getMilliseconds(), 3)}`
}

export const GAP = '  '
/** Minimum width of a value, below which other columns are dropped, and then keys are shortened. */
const MIN_WIDTH = 24

export interface ColumnLayout<C extends string> {
  readonly columns: ReadonlySet<C>
  readonly keyWidth: number
  /** Width of a value. */
  readonly valueWidth: number
}

/**
 * Selects the columns that fit into a terminal, in addition to key and value. The sum of all widths never exceeds the
 * terminal.
 *
 * @param columns - width of the terminal; `undefined` shows all columns without shortening values
 * @param keyWidth - width of the widest key
 * @param beside - widths of the other columns, the most important first; `undefined` omits a column
 */
export function fitColumns<C extends string>(
  columns: number | undefined,
  keyWidth: number,
  beside: Readonly<Record<C, number | undefined>>,
): ColumnLayout<C> {
  const fitting = new Set<C>()
  let room = columns === undefined ? Number.POSITIVE_INFINITY : columns - keyWidth - GAP.length
  for (const column in beside) {
    const width = beside[column]
    if (width === undefined) continue
    const left = room - width - GAP.length
    if (left < MIN_WIDTH) break
    fitting.add(column)
    room = left
  }
  if (columns === undefined || room >= MIN_WIDTH) return { columns: fitting, keyWidth, valueWidth: room }
  const minValueWidth = Math.max(Math.min(MIN_WIDTH, Math.floor(columns / 2) - GAP.length), 1)
  const fittingWidth = Math.max(Math.min(keyWidth, columns - GAP.length - minValueWidth), 1)
  return { columns: fitting, keyWidth: fittingWidth, valueWidth: Math.max(columns - GAP.length - fittingWidth, 1) }
}

// Characters that take two columns of a terminal: East Asian wide characters and emoji.
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u
// Characters that take no column: marks that combine with the character before them, and format characters.
const COMBINING = /[\p{Mn}\p{Me}\p{Cf}]/u

const widthOf = (char: string): number => (WIDE.test(char) ? 2 : COMBINING.test(char) ? 0 : 1)

/** Returns the number of columns that a text takes in a terminal. */
export const textWidth = (text: string): number =>
  /^[ -~]*$/.test(text) ? text.length : Array.from(text).reduce((sum, char) => sum + widthOf(char), 0)

export const padTo = (text: string, width: number): string => text + ' '.repeat(Math.max(width - textWidth(text), 0))

const ELLIPSIS = '…'

/** Returns the beginning of a text that fits into a width. */
export function startOf(text: string, width: number): string {
  let [start, used] = ['', 0]
  for (const char of text) {
    used += widthOf(char)
    if (used > width) break
    start += char
  }
  return start
}

/** Shortens a text to its end, because the ends of keys differ most. */
export function tailOf(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let [tail, used] = ['', ELLIPSIS.length]
  for (const char of Array.from(text).reverse()) {
    used += widthOf(char)
    if (used > width) break
    tail = char + tail
  }
  return `${ELLIPSIS}${tail}`
}

const NATURAL = new Intl.Collator('en', { numeric: true })

/** Compares texts in natural order, with `line-9` before `line-10`. */
export const naturalOrder = (a: string, b: string): number => NATURAL.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0)

/** Formats names and their values in two columns. Omits names without a value. */
export function table(rows: readonly (readonly [name: string, value: string | undefined])[], colors: Colors): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows
    .flatMap(([name, value]) =>
      value === undefined ? [] : `${colors.dim(name.padEnd(width))}${GAP}${oneLine(value)}\n`,
    )
    .join('')
}

/** Time before a task shows progress, ms. */
const PROGRESS_DELAY_MS = 1_000
const INTERVAL = 250
const CLEAR_LINE = '\r\u001b[K'

/**
 * Shows progress on one line of a terminal, once the command has taken a second. Returns a function that stops the
 * display and clears the line.
 */
export function showProgress(text: () => string, { stderr, clock }: Pick<Io, 'stderr' | 'clock'>): () => void {
  if (!stderr.isTTY) return () => undefined
  let isShown = false
  const show = (): void => {
    isShown = true
    stderr.write(`${CLEAR_LINE}${text()}`)
    cancel = clock.schedule(INTERVAL, show)
  }
  let cancel = clock.schedule(PROGRESS_DELAY_MS, show)
  return () => {
    cancel()
    if (isShown) stderr.write(CLEAR_LINE)
  }
}

const LINE_FEED = 0x0a

export function linesIn(chunk: Uint8Array): number {
  let count = 0
  for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) count++
  return count
}
