/** Lines of a small chart, as data of SVG paths. */
export interface Spark {
  readonly line: string
  /** The line, closed along the bottom. */
  readonly area: string
  readonly highest: number
}

/**
 * A chart of the newest values, the last at the right edge: `slots` values fill the width. The scale ends at the highest
 * value, and never below `least`, so that one request in a minute does not look like a mountain.
 */
export function spark(values: readonly number[], slots: number, width: number, height: number, least: number): Spark {
  const newest = values.slice(-slots)
  const highest = Math.max(least, ...newest)
  const step = width / (slots - 1)
  const points = newest.map((value, i) => {
    const x = width - (newest.length - 1 - i) * step
    return `${round(x)} ${round(height - (value / highest) * height)}`
  })
  if (points.length === 0) return { line: '', area: '', highest }
  const line = `M${points.join('L')}`
  const start = round(width - (newest.length - 1) * step)
  return { line, area: `${line}L${width} ${height}L${start} ${height}Z`, highest }
}

const round = (n: number): number => Math.round(n * 10) / 10
