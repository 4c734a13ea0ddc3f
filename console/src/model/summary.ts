import { formatFixed } from './amount.js'

export interface Summary {
  /** The numbers have the decimals of the values. */
  readonly min: string
  readonly max: string
  /** The time-weighted mean. */
  readonly mean: string
  readonly latest: string
}

interface Numbers {
  readonly times: readonly number[]
  readonly values: readonly number[]
}

/** Summarizes a non-empty series with ascending times. The last value holds until `now`. */
export function summaryOf({ times, values }: Numbers, now: number): Summary {
  const end = Math.max(now, times.at(-1) ?? now)
  let [min, max, weighted] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  for (const [i, value] of values.entries()) {
    min = Math.min(min, value)
    max = Math.max(max, value)
    weighted += value * ((times[i + 1] ?? end) - (times[i] ?? end))
  }
  const latest = values.at(-1) ?? Number.NaN
  const time = end - (times[0] ?? end)
  const mean = time > 0 ? weighted / time : latest
  const digits = decimalsOf(values)
  const format = (n: number): string => formatFixed(n, digits)
  return {
    min: format(min),
    max: format(max),
    mean: formatFixed(mean, Math.min(MAX_DECIMALS, digits + 1)),
    latest: format(latest),
  }
}

const MAX_DECIMALS = 6

/** Returns the largest number of decimals of the values, at most six. */
export const decimalsOf = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.min(MAX_DECIMALS, Math.max(most, decimals(value))), 0)

const decimals = (n: number): number => /\.(\d+)$/.exec(String(n))?.[1]?.length ?? 0
