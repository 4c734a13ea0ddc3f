/** A list of rows of one height, and the part of it that is to be seen; CSS pixels. */
export interface Viewport {
  readonly scrollTop: number
  readonly height: number
  readonly rowHeight: number
  readonly count: number
}

/** Rows from `first` up to, but not with, `end`. */
export interface Range {
  readonly first: number
  readonly end: number
}

/** The rows to be seen, and some around them, so that slow scrolling finds them there. */
export function visibleRows({ scrollTop, height, rowHeight, count }: Viewport, around = 6): Range {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight) - around
  const end = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight) + around
  const last = Math.min(count, Math.max(0, end))
  return { first: Math.max(0, Math.min(first, last)), end: last }
}

/** Where to scroll so that a row is to be seen whole; where it is already, if it is. */
export function scrollToShow(row: number, { scrollTop, height, rowHeight }: Viewport): number {
  const top = row * rowHeight
  if (top < scrollTop) return top
  return Math.max(scrollTop, top + rowHeight - height)
}

/** The place of a row by its key; while that is gone, the place it had. -1 without rows. */
export function currentRow(keys: readonly { readonly id: string }[], id: string | undefined, last: number): number {
  const found = keys.findIndex(key => key.id === id)
  return found === -1 ? Math.min(last, keys.length - 1) : found
}
