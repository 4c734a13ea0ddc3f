export interface Summary {
  readonly min: number
  readonly max: number
  /** The time-weighted mean. */
  readonly mean: string
  readonly latest: number
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
  return { min, max, mean: mean.toFixed(Math.min(6, decimals(latest) + 1)), latest }
}

const decimals = (n: number): number => /\.(\d+)$/.exec(String(n))?.[1]?.length ?? 0
