// biome-ignore-all lint/a11y/useSemanticElements: a table cannot position its rows
// biome-ignore-all lint/a11y/useFocusableInteractive: rows have the focus, not cells
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { type BranchRow as Branch, isBranch, type KeyRow, parentOf, type TreeRow } from '../../model/key-tree.js'
import { rowTops, scrollToShow, type Viewport, visibleRows } from '../../model/window.js'
import type { KeyList } from '../../state/key-list.js'
import { EMPTY_ROW } from '../../state/row-cache.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'
import { BranchRow } from './branch-row.js'
import { COLUMNS } from './columns.js'
import { GridRow } from './grid-row.js'
import { MoreKeys } from './more-keys.js'
import { useCurrent } from './use-current.js'
import { useTree } from './use-tree.js'
import { useViewport } from './use-viewport.js'

/** Width below which rows become cards, as in the style sheet; CSS pixels. */
const NARROW_WIDTH = 640
const ROW = { wide: 34, narrow: 78 }
const BRANCH = { wide: 34, narrow: 46 }
/** Height of the column headers above the rows. */
const HEAD_HEIGHT = 30

/**
 * Shows the keys as a grid or a tree, in which arrow keys move the focus and Enter opens a key. Only the visible rows
 * and the focused row are rendered. The focused row keeps the focus when it is scrolled out of view.
 */
export function Grid({ list, open }: { readonly list: KeyList; readonly open: string | undefined }): JSX.Element {
  const { rows$, now$, health$, visible$, dialog$, navigate } = useConsole()
  const { tree, rows, setOpen } = useTree(list)
  const entries = useCell(rows$)
  const now = useCell(now$)
  const isStale = useCell(health$).state !== 'live'
  const { ref, visible } = useViewport()
  const { current, activate } = useCurrent(ref, rows)
  const narrow = visible.width < NARROW_WIDTH
  const layout = narrow ? 'narrow' : 'wide'
  const tops = useMemo(() => rowTops(rows, row => (isBranch(row) ? BRANCH : ROW)[layout]), [rows, layout])
  const height = visible.height - (narrow ? 0 : HEAD_HEIGHT)
  const viewport: Viewport = { scrollTop: visible.scrollTop, height, tops }
  const { first, end } = visibleRows(viewport)

  useEffect(() => {
    visible$.next(rows.slice(first, end).flatMap(row => (isBranch(row) ? [] : [row.listed])))
  }, [visible$, rows, first, end])
  useEffect(() => () => visible$.next([]), [visible$])

  const move = (to: number): void => {
    const target = Math.max(0, Math.min(rows.length - 1, to))
    activate(rows[target]?.id)
    if (ref.current) ref.current.scrollTop = scrollToShow(target, { ...viewport, scrollTop: ref.current.scrollTop })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height / ROW[layout]) - 1)
    const to = targets(current, page, rows.length)[event.key]
    const row = rows[current]
    if (event.ctrlKey || event.metaKey || event.altKey || row === undefined) return
    if (to !== undefined) move(to)
    else if (!(tree && foldRow(event.key, row)) && (isBranch(row) || !actOnKey(event.key, row))) return
    event.preventDefault()
  }
  const foldRow = (pressed: string, row: TreeRow): boolean => {
    const open = isBranch(row) ? row.isOpen : undefined
    const parent = parentOf(rows, current)
    if (pressed === 'ArrowRight' && open) move(current + 1)
    else if (isBranch(row) && pressed === 'ArrowRight') setOpen([row], true)
    else if (isBranch(row) && pressed === 'ArrowLeft' && open) setOpen([row], false)
    else if (pressed === 'ArrowLeft' && parent !== -1) move(parent)
    else if (isBranch(row) && (pressed === 'Enter' || pressed === ' ')) setOpen([row], !open)
    else if (pressed === '*') setOpen(siblings(rows, current), true)
    else return false
    return true
  }
  const actOnKey = (pressed: string, { listed }: KeyRow): boolean => {
    const entry = entries.get(listed.id)?.entry
    if (pressed === 'Enter' || pressed === ' ') navigate({ view: 'keys', id: listed.id })
    else if (pressed === 'e' && entry) dialog$.next({ type: 'set', key: listed })
    else if (pressed === 'Delete' && entry?.value) dialog$.next({ type: 'delete', key: listed, value: entry.value })
    else return false
    return true
  }

  const renderedRows = Array.from({ length: end - first }, (_, i) => first + i)
  if (current < first || current >= end) renderedRows.push(current)
  return (
    <div ref={ref} class={`grid ${tree ? 'grid-tree' : ''} ${isStale ? 'grid-stale' : ''}`}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the role is grid or treegrid */}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support them */}
      <div
        role={tree ? 'treegrid' : 'grid'}
        aria-label="Keys"
        aria-rowcount={rows.length + 1}
        aria-colcount={COLUMNS.length}
        onKeyDown={onKeyDown}
      >
        <Heads />
        <div class="grid-body" role="rowgroup" style={{ height: `${tops.at(-1)}px` }}>
          {renderedRows.map(index => {
            const row = rows[index]
            if (row === undefined) return undefined
            const position = {
              index,
              top: tops[index] ?? 0,
              active: index === current,
              onFocus: () => activate(row.id),
            }
            return isBranch(row) ? (
              <BranchRow
                key={row.id}
                {...position}
                branch={row}
                more={list.more}
                onToggle={() => setOpen([row], !row.isOpen)}
              />
            ) : (
              <GridRow
                key={row.id}
                {...position}
                inTree={tree}
                listing={row}
                row={entries.get(row.id) ?? EMPTY_ROW}
                now={now}
                open={row.id === open}
                onOpen={() => navigate({ view: 'keys', id: row.id })}
              />
            )
          })}
        </div>
      </div>
      {list.more && <MoreKeys list={list} />}
    </div>
  )
}

const targets = (row: number, page: number, count: number): Readonly<Record<string, number>> => ({
  ArrowDown: row + 1,
  ArrowUp: row - 1,
  PageDown: row + page,
  PageUp: row - page,
  Home: 0,
  End: count - 1,
})

/** Returns the branches at the level of a row. */
function siblings(rows: readonly TreeRow[], row: number): readonly Branch[] {
  const level = rows[row]?.level
  const parent = parentOf(rows, row)
  const beyond = rows.findIndex((other, at) => at > row && other.level < (level ?? 1))
  return rows
    .slice(parent + 1, beyond === -1 ? undefined : beyond)
    .filter(isBranch)
    .filter(other => other.level === level)
}

const Heads = (): JSX.Element => (
  <div class="grid-head" role="rowgroup">
    <div class="grid-row" role="row" aria-rowindex={1}>
      {COLUMNS.map(({ name, title, hint }) => (
        <div key={name} class={`cell cell-${name}`} role="columnheader" title={hint}>
          {title}
        </div>
      ))}
    </div>
  </div>
)
