export interface Spark {
  readonly line: string
  readonly area: string
  readonly highest: number
}

/**
 * Draws the newest values, with the last one at the right edge. `slots` values fill the width. The scale ends at the
 * highest value, but not below `minScale`, so that a single request does not fill the height.
 */
export function spark(
  values: readonly number[],
  slots: number,
  width: number,
  height: number,
  minScale: number,
): Spark {
  const newest = values.slice(-slots)
  const highest = Math.max(minScale, ...newest)
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
