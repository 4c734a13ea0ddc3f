/** A list of rows, and the part of it that is to be seen; CSS pixels. */
export interface Viewport {
  readonly scrollTop: number
  readonly height: number
  /** Where each row begins, and where the last one ends; as of {@link topsOf}. */
  readonly tops: readonly number[]
}

/** Rows from `first` up to, but not with, `end`. */
export interface Range {
  readonly first: number
  readonly end: number
}

/** Where rows of these heights begin, one below the other, and where the last one ends. */
export function topsOf<R>(rows: readonly R[], heightOf: (row: R) => number): readonly number[] {
  let top = 0
  return [0, ...rows.map(row => (top += heightOf(row)))]
}

/** The place of the first top that is not less; by halves, for there may be many. */
function firstFrom(tops: readonly number[], least: number): number {
  let [from, to] = [0, tops.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((tops[middle] ?? 0) < least) from = middle + 1
    else to = middle
  }
  return from
}

/** The rows to be seen, and some around them, so that slow scrolling finds them there. */
export function visibleRows({ scrollTop, height, tops }: Viewport, around = 6): Range {
  const count = tops.length - 1
  const top = Math.max(0, scrollTop)
  const first = firstFrom(tops, top + 1) - 1 - around
  const last = Math.min(count, firstFrom(tops, top + height) + around)
  return { first: Math.max(0, Math.min(first, last)), end: last }
}

/** Where to scroll so that a row is to be seen whole; where it is already, if it is. */
export function scrollToShow(row: number, { scrollTop, height, tops }: Viewport): number {
  const [top = 0, end = 0] = tops.slice(row, row + 2)
  return top < scrollTop ? top : Math.max(scrollTop, end - height)
}

/** The place of a row by its key; while that is gone, the place it had. -1 without rows. */
export function currentRow(keys: readonly { readonly id: string }[], id: string | undefined, last: number): number {
  const found = keys.findIndex(key => key.id === id)
  return found === -1 ? Math.min(last, keys.length - 1) : found
}
