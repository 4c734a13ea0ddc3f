import { createColors } from 'picocolors'
import type { Environment } from '../node/settings.js'
import type { Sink } from './io.js'

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
