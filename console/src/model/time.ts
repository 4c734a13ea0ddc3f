const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A span of time in at most two units, such as `42s`, `3m 07s`, `5h 02m`, `12d 4h`. */
export function span(ms: number): string {
  const time = Math.max(0, ms)
  if (time < MINUTE) return `${Math.floor(time / SECOND)}s`
  if (time < HOUR) return `${Math.floor(time / MINUTE)}m ${two(((time % HOUR) % MINUTE) / SECOND)}s`
  if (time < DAY) return `${Math.floor(time / HOUR)}h ${two((time % HOUR) / MINUTE)}m`
  return `${Math.floor(time / DAY)}d ${Math.floor((time % DAY) / HOUR)}h`
}

/** What is left until then: as {@link span}, with a second that has begun counted whole, so that 0 is the end. */
export const left = (ms: number): string => span(Math.ceil(ms / SECOND) * SECOND)

/** The time of day, with ms. */
export function timeOfDay(at: number): string {
  const date = new Date(at)
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}

/** Date and time of day. */
export function dateAndTime(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeOfDay(at)}`
}

const two = (n: number): string => String(Math.floor(n)).padStart(2, '0')
