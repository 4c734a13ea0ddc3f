import { useMemo } from 'preact/hooks'
import { isBranch, type TreeRow } from '../../model/key-tree.js'
import { rowTops, scrollToShow, type Viewport, visibleRows } from '../../model/window.js'
import type { useViewport } from './use-viewport.js'

/** Width below which rows become cards, as in the style sheet; CSS pixels. */
const NARROW_WIDTH = 640
const ROW = { wide: 34, narrow: 78 }
const BRANCH = { wide: 34, narrow: 46 }
/** Height of the column headers above the rows. */
const HEAD_HEIGHT = 30

export interface GridLayout {
  /** Top of each row, and the bottom of the last one; CSS pixels. */
  readonly tops: readonly number[]
  /** Index of the first visible row. */
  readonly first: number
  /** Index after the last visible row. */
  readonly end: number
  /** Number of rows by which a page key moves. */
  readonly pageSize: number
  scrollTo(row: number): void
}

/** Positions the rows, and returns which rows are visible in the scrolled element. */
export function useGridLayout({ ref, visible }: ReturnType<typeof useViewport>, rows: readonly TreeRow[]): GridLayout {
  const isNarrow = visible.width < NARROW_WIDTH
  const layout = isNarrow ? 'narrow' : 'wide'
  const tops = useMemo(() => rowTops(rows, row => (isBranch(row) ? BRANCH : ROW)[layout]), [rows, layout])
  const height = visible.height - (isNarrow ? 0 : HEAD_HEIGHT)
  const viewport: Viewport = { scrollTop: visible.scrollTop, height, tops }
  return {
    tops,
    ...visibleRows(viewport),
    pageSize: Math.max(1, Math.floor(height / ROW[layout]) - 1),
    scrollTo: row => {
      if (ref.current) ref.current.scrollTop = scrollToShow(row, { ...viewport, scrollTop: ref.current.scrollTop })
    },
  }
}
