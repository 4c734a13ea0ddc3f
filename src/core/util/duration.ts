const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g

/** The text form of a time: a number of ms, or numbers with units (`500ms`, `10s`, `1.5h`, `1h30m`, `7d`). */
export const DURATION = /^(?:\d+|(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)$/

/** Parses a time into ms. Returns `NaN` for another text. */
export function parseDuration(text: string): number {
  if (!DURATION.test(text)) return Number.NaN
  return /^\d+$/.test(text) ? Number(text) : sumOf(text)
}

// The sum is rounded at the end, because binary fractions add up to small errors.
const sumOf = (text: string): number =>
  Math.round(
    Array.from(text.matchAll(PART)).reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0),
  )
