/** Numbers in few words. */
export interface Summary {
  readonly least: number
  readonly most: number
  /** Over time: a value counts for as long as it stood. */
  readonly mean: string
  readonly latest: number
}

interface Numbers {
  readonly times: readonly number[]
  readonly values: readonly number[]
}

/** What there is to say of numbers and their rising times; there must be one. `now` is how long the last one stands. */
export function summaryOf({ times, values }: Numbers, now: number): Summary {
  const end = Math.max(now, times.at(-1) ?? now)
  let [least, most, weighted] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  for (const [i, value] of values.entries()) {
    least = Math.min(least, value)
    most = Math.max(most, value)
    weighted += value * ((times[i + 1] ?? end) - (times[i] ?? end))
  }
  const latest = values.at(-1) ?? Number.NaN
  const time = end - (times[0] ?? end)
  const mean = time > 0 ? weighted / time : latest
  return { least, most, mean: mean.toFixed(Math.min(6, digits(latest) + 1)), latest }
}

/** Behind the point. */
const digits = (n: number): number => /\.(\d+)$/.exec(String(n))?.[1]?.length ?? 0
