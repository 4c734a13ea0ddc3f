/** The visible part of the list, in CSS pixels. */
export interface Viewport {
  readonly scrollTop: number
  readonly height: number
  /** Top of each row, followed by the end of the last one; see {@link rowTops}. */
  readonly tops: readonly number[]
}

export interface Range {
  readonly first: number
  /** The index after the last row. */
  readonly end: number
}

/** Returns the top of each row, followed by the end of the last one. */
export function rowTops<R>(rows: readonly R[], heightOf: (row: R) => number): readonly number[] {
  let top = 0
  return [0, ...rows.map(row => (top += heightOf(row)))]
}

/** Returns the first index whose top is at least `min`, by binary search. */
function lowerBound(tops: readonly number[], min: number): number {
  let [from, to] = [0, tops.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((tops[middle] ?? 0) < min) from = middle + 1
    else to = middle
  }
  return from
}

/** Returns the visible rows, plus some around them for smooth scrolling. */
export function visibleRows({ scrollTop, height, tops }: Viewport, overscan = 6): Range {
  const count = tops.length - 1
  const top = Math.max(0, scrollTop)
  const first = lowerBound(tops, top + 1) - 1 - overscan
  const last = Math.min(count, lowerBound(tops, top + height) + overscan)
  return { first: Math.max(0, Math.min(first, last)), end: last }
}

/** Returns the scroll position that shows a row completely, and changes the position only if needed. */
export function scrollToShow(row: number, { scrollTop, height, tops }: Viewport): number {
  const [top = 0, end = 0] = tops.slice(row, row + 2)
  return top < scrollTop ? top : Math.max(scrollTop, end - height)
}

/**
 * Returns a row's index by its key, or the last known index while the key is missing. Returns -1 if there are no
 * rows.
 */
export function currentRow(keys: readonly { readonly id: string }[], id: string | undefined, last: number): number {
  const found = keys.findIndex(key => key.id === id)
  return found === -1 ? Math.min(last, keys.length - 1) : found
}
