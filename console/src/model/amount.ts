const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const MEASURED = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 })

/** Formats a count, such as `2,000`. */
export const formatCount = (n: number): string => COUNT.format(n)

/** Formats a count in a compact form, such as `12.4K`. */
export const formatCompact = (n: number): string => (n < 10_000 ? COUNT.format(n) : SHORT.format(n))

/** Formats a count with its noun, such as `1 key` or `2 keys`. */
export const pluralize = (n: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(n)} ${n === 1 ? noun : plural}`

/** Formats a number with a fixed number of decimals, or with six significant digits if it is very large or small. */
export const formatFixed = (n: number, decimals: number): string =>
  n === 0 || (Math.abs(n) < 1e9 && Math.abs(n) >= 1e-6)
    ? n.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
    : MEASURED.format(n)

export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return pluralize(bytes, 'byte')
  const mebi = bytes / 1_048_576
  return mebi < 1 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${mebi.toFixed(1)} MiB`
}
