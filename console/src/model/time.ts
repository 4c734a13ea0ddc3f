const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Formats a duration in at most two units, such as `42s`, `3m 07s`, `5h 02m` or `12d 4h`. */
export function formatDuration(ms: number): string {
  const time = Math.max(0, ms)
  if (time < MINUTE) return `${Math.floor(time / SECOND)}s`
  if (time < HOUR) return `${Math.floor(time / MINUTE)}m ${twoDigits(((time % HOUR) % MINUTE) / SECOND)}s`
  if (time < DAY) return `${Math.floor(time / HOUR)}h ${twoDigits((time % HOUR) / MINUTE)}m`
  return `${Math.floor(time / DAY)}d ${Math.floor((time % DAY) / HOUR)}h`
}

/** Formats a remaining time like {@link formatDuration}, rounded up to seconds, so that 0 means expired. */
export const formatRemaining = (ms: number): string => formatDuration(Math.ceil(ms / SECOND) * SECOND)

export function timeOfDay(at: number): string {
  const date = new Date(at)
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}:${twoDigits(date.getSeconds())}.${ms}`
}

export function dateAndTime(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${timeOfDay(at)}`
}

const twoDigits = (n: number): string => String(Math.floor(n)).padStart(2, '0')
