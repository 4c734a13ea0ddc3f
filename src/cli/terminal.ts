import { createColors } from 'picocolors'
import type { Environment } from '../node/environment.js'
import type { Io, Sink } from './io.js'

export type Colors = ReturnType<typeof createColors>

// Control characters and those that turn the direction of writing: they would let a value rewrite the terminal.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Whether a text has characters that leave the line or steer a terminal. */
export const isUnsafe = (text: string): boolean => text.search(UNSAFE) >= 0

/** Text that stays in its line and does nothing to a terminal. */
export const oneLine = (text: string): string =>
  text.replace(UNSAFE, char => ESCAPES[char] ?? `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)

/**
 * Colours for a terminal, none for anything else. `NO_COLOR` and `FORCE_COLOR` decide otherwise; picocolors itself
 * would colour the output of a pipe in a CI job.
 */
export function colorsFor(sink: Sink, env: Environment): Colors {
  const { NO_COLOR, FORCE_COLOR, TERM } = env
  if (NO_COLOR) return createColors(false)
  if (FORCE_COLOR) return createColors(FORCE_COLOR !== '0' && FORCE_COLOR !== 'false')
  return createColors(sink.isTTY === true && TERM !== 'dumb')
}

/** So many of something: `1 key`, `2 keys`. */
export const counted = (count: number, thing: string, things = `${thing}s`): string =>
  `${count} ${count === 1 ? thing : things}`

/** Local time of day with milliseconds. */
export function timeOfDay(now: number): string {
  const date = new Date(now)
  const pad = (value: number, length: number): string => String(value).padStart(length, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(part => pad(part, 2)).join(':')
  return `${time}.${pad(date.getMilliseconds(), 3)}`
}

/** Between two columns. */
export const GAP = '  '
/** What a value shall have before other columns have theirs. */
const ENOUGH = 24
/** What it has in the narrowest terminal. */
const LEAST = 12

/** Which columns a line has, and how much of a value. */
export interface Fitting<C extends string> {
  readonly shown: ReadonlySet<C>
  /** Characters of a value. */
  readonly room: number
}

/**
 * Fits the columns of a line, of which key and value are always there, into a terminal.
 *
 * @param columns - width of the terminal; without one all is shown, and no value is shortened
 * @param keyWidth - width of the widest key
 * @param beside - the other columns and their widths, the most important first; one without a width is not there
 */
export function fitColumns<C extends string>(
  columns: number | undefined,
  keyWidth: number,
  beside: Readonly<Record<C, number | undefined>>,
): Fitting<C> {
  const shown = new Set<C>()
  let room = columns === undefined ? Number.POSITIVE_INFINITY : columns - keyWidth - GAP.length
  for (const column in beside) {
    const width = beside[column]
    if (width === undefined) continue
    const left = room - width - GAP.length
    if (left < ENOUGH) break
    shown.add(column)
    room = left
  }
  return { shown, room: Math.max(room, LEAST) }
}

/** What takes less needs no progress, ms. */
const PATIENCE = 1_000
const INTERVAL = 250
const CLEAR_LINE = '\r\u001b[K'

/**
 * Shows how far a command has come, on one line of a terminal, once it has taken a second. The returned function ends
 * that, and clears the line.
 */
export function showProgress(words: () => string, { stderr, clock }: Pick<Io, 'stderr' | 'clock'>): () => void {
  if (!stderr.isTTY) return () => undefined
  let shown = false
  const show = (): void => {
    shown = true
    stderr.write(`${CLEAR_LINE}${words()}`)
    cancel = clock.schedule(INTERVAL, show)
  }
  let cancel = clock.schedule(PATIENCE, show)
  return () => {
    cancel()
    if (shown) stderr.write(CLEAR_LINE)
  }
}

const LINE_FEED = 0x0a

/** Number of line ends. */
export function linesIn(chunk: Uint8Array): number {
  let count = 0
  for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) count++
  return count
}
