const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const MEASURED = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 })

/** A count, such as `2,000`. */
export const count = (n: number): string => COUNT.format(n)

/** A count for little room, such as `12.4K`. */
export const shortCount = (n: number): string => (n < 10_000 ? COUNT.format(n) : SHORT.format(n))

/** A count with its noun: `1 key`, `2 keys`. */
export const counted = (n: number, noun: string, plural = `${noun}s`): string =>
  `${count(n)} ${n === 1 ? noun : plural}`

/** A measured number. */
export const measured = (n: number): string => MEASURED.format(n)

/** A length in bytes. */
export function size(bytes: number): string {
  if (bytes < 1_024) return counted(bytes, 'byte')
  const mebi = bytes / 1_048_576
  return mebi < 1 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${mebi.toFixed(1)} MiB`
}
