import { InvalidArgumentError } from 'commander'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g
const PARTS = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/

/**
 * Parses a flag that is a time: a number of ms, or numbers with units (`500ms`, `10s`, `1.5h`, `1h30m`, `7d`). Returns
 * whole ms, at least one.
 */
export function duration(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : PARTS.test(text) ? sumOf(text) : Number.NaN
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new InvalidArgumentError('Expected a time, such as 500ms, 10s, 1h30m, or a positive integer of ms.')
}

// Rounded once, so that 0.1s and 0.2s are not off by what binary fractions leave.
const sumOf = (text: string): number =>
  Math.round(
    Array.from(text.matchAll(PART)).reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0),
  )

/** A time for people, in its two largest units: `2h 5m`, `9s`, `40ms`. @param ms - negative ones count as none */
export function inUnits(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole}ms`
  const seconds = Math.round(whole / 1_000)
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}
