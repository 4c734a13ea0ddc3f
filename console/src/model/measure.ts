import { formatCompact } from './amount.js'
import { formatDuration } from './time.js'

const FINE = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const MEBIBYTE = 1_048_576
const GIBIBYTE = 1_024 * MEBIBYTE
const SHORT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Formats a measured duration with its unit, such as `21 µs`, `3.4 ms`, `1.2 s` or `3m 07s`. */
export function formatMs(ms: number): string {
  if (ms >= 60_000) return formatDuration(ms)
  if (ms > 0 && ms < 0.0995) return `${WHOLE.format(1_000 * ms)} µs`
  return ms < 999.5 ? `${formatNumber(ms)} ms` : `${formatNumber(ms / 1_000)} s`
}

/** Formats a rate, with a decimal if it is small. */
export const formatRate = (rate: number): string => (rate < 10 ? SHORT.format(rate) : formatCompact(rate))

/** Formats a percentage. A value above zero is never shown as zero. */
export const formatPercent = (percent: number): string =>
  percent > 0 && percent < 0.1 ? '< 0.1 %' : `${SHORT.format(percent)} %`

/** Formats a size of memory, such as `1 GiB` or `512 MiB`. */
export const formatMemory = (bytes: number): string =>
  bytes < GIBIBYTE ? `${SHORT.format(bytes / MEBIBYTE)} MiB` : `${SHORT.format(bytes / GIBIBYTE)} GiB`

const formatNumber = (n: number): string => (n < 10 ? FINE : WHOLE).format(n)
