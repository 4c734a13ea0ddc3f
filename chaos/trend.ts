/** A value at a time in ms. */
export interface Point {
  readonly at: number
  readonly value: number
}

/** The slope of a series per hour, with its confidence interval, and the median of the values. */
export interface Trend {
  readonly median: number
  readonly slope: number
  readonly low: number
  readonly high: number
}

const HOUR_MS = 3_600_000
/** The two-sided 99 % quantile of the normal distribution. A run judges many series, so 95 % would fail too often. */
const QUANTILE = 2.576
/**
 * The number of blocks. Consecutive samples depend on each other, which would make the interval too narrow, so each
 * block of samples is reduced to its median. In a run of 12 minutes, a block is as long as a period of the slow reader.
 */
const BLOCKS = 18

/**
 * Fits the slope of a series by Theil and Sen: the median of the slopes of all pairs of points, which ignores outliers
 * such as a garbage collection. The confidence interval is Sen's, from the distribution of Kendall's statistic.
 */
export function trendOf(points: readonly Point[]): Trend {
  const blocks = blocksOf(points)
  const slopes = blocks
    .flatMap((first, i) =>
      blocks.slice(i + 1).map(last => ((last.value - first.value) / (last.at - first.at)) * HOUR_MS),
    )
    .sort((a, b) => a - b)
  const { length: n } = blocks
  const width = QUANTILE * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)
  return {
    median: median(points.map(({ value }) => value)),
    slope: median(slopes),
    // Too few points for an interval have the bounds of all slopes.
    low: slopes[Math.max(0, Math.floor((slopes.length - width) / 2))] ?? Number.NaN,
    high: slopes[Math.min(slopes.length - 1, Math.ceil((slopes.length + width) / 2))] ?? Number.NaN,
  }
}

function blocksOf(points: readonly Point[]): Point[] {
  const count = Math.min(BLOCKS, points.length)
  return Array.from({ length: count }, (_, i) => {
    const block = points.slice(Math.floor((i * points.length) / count), Math.floor(((i + 1) * points.length) / count))
    return { at: median(block.map(({ at }) => at)), value: median(block.map(({ value }) => value)) }
  })
}

/** Returns the value below which the given share of the numbers lies, or NaN without numbers. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const median = (numbers: readonly number[]) => quantile(numbers, 0.5)
