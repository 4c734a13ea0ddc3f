// biome-ignore-all lint/a11y/useSemanticElements: a table cannot place its rows by itself
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the focus, and no cell needs it
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type BranchRow as Branch, isBranch, type KeyRow, parentOf, type TreeRow } from '../../model/key-tree.js'
import { scrollToShow, topsOf, type Viewport, visibleRows } from '../../model/window.js'
import type { KeyList } from '../../state/key-list.js'
import { BLANK } from '../../state/row-book.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'
import { BranchRow } from './branch-row.js'
import { COLUMNS, type Filled, filledColumns } from './columns.js'
import { Gap } from './gap.js'
import { GridRow } from './grid-row.js'
import { useCurrent } from './use-current.js'
import { useTree } from './use-tree.js'
import { useViewport } from './use-viewport.js'

/** Narrower than this and rows become cards; as in the style sheet. CSS pixels. */
const NARROW = 640
const ROW = { wide: 34, narrow: 78 }
const BRANCH = { wide: 34, narrow: 46 }
/** Of the column heads, which stand over the rows. */
const HEAD = 30

/**
 * The keys as a grid, or as a tree of what they begin with: the arrows move, Enter opens. Only the rows to be seen exist,
 * and the one with the focus, so that it keeps it when it is scrolled away.
 */
export function Grid({ list, open }: { readonly list: KeyList; readonly open: string | undefined }): JSX.Element {
  const { rows$, now$, health$, visible$, dialog$, go } = useConsole()
  const { tree, rows, turn } = useTree(list)
  const entries = useCell(rows$)
  const now = useCell(now$)
  const filled = useRef<Filled>(undefined)
  filled.current = filledColumns(entries, filled.current)
  const { ttl, token } = filled.current ?? { ttl: true, token: true }
  const stale = useCell(health$).state !== 'live'
  const { ref, seen } = useViewport()
  const { current, activate } = useCurrent(ref, rows)
  const narrow = seen.width < NARROW
  const room = narrow ? 'narrow' : 'wide'
  const tops = useMemo(() => topsOf(rows, row => (isBranch(row) ? BRANCH : ROW)[room]), [rows, room])
  const height = seen.height - (narrow ? 0 : HEAD)
  const viewport: Viewport = { scrollTop: seen.scrollTop, height, tops }
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
    const page = Math.max(1, Math.floor(height / ROW[room]) - 1)
    const to = targets(current, page, rows.length)[event.key]
    const row = rows[current]
    if (event.ctrlKey || event.metaKey || event.altKey || row === undefined) return
    if (to !== undefined) move(to)
    else if (!(tree && fold(event.key, row)) && (isBranch(row) || !act(event.key, row))) return
    event.preventDefault()
  }
  const fold = (pressed: string, row: TreeRow): boolean => {
    const open = isBranch(row) ? row.isOpen : undefined
    const above = parentOf(rows, current)
    if (pressed === 'ArrowRight' && open) move(current + 1)
    else if (isBranch(row) && pressed === 'ArrowRight') turn([row], true)
    else if (isBranch(row) && pressed === 'ArrowLeft' && open) turn([row], false)
    else if (pressed === 'ArrowLeft' && above !== -1) move(above)
    else if (isBranch(row) && (pressed === 'Enter' || pressed === ' ')) turn([row], !open)
    else if (pressed === '*') turn(siblings(rows, current), true)
    else return false
    return true
  }
  const act = (pressed: string, { listed }: KeyRow): boolean => {
    const entry = entries.get(listed.id)?.entry
    if (pressed === 'Enter' || pressed === ' ') go({ view: 'keys', id: listed.id })
    else if (pressed === 'e' && entry) dialog$.next({ type: 'set', key: listed })
    else if (pressed === 'Delete' && entry?.value) dialog$.next({ type: 'delete', key: listed, value: entry.value })
    else return false
    return true
  }

  const shown = Array.from({ length: end - first }, (_, i) => first + i)
  if (current < first || current >= end) shown.push(current)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its role is one of two
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both have a name and numbers
    <div
      ref={ref}
      class={`grid ${tree ? 'grid-tree' : ''} ${narrow ? 'grid-narrow' : ''} ${stale ? 'grid-stale' : ''} ${ttl ? '' : 'grid-no-ttl'} ${token ? '' : 'grid-no-token'}`}
      role={tree ? 'treegrid' : 'grid'}
      aria-label="Keys"
      aria-rowcount={rows.length + 1}
      aria-colcount={COLUMNS.length}
      onKeyDown={onKeyDown}
    >
      <Heads />
      <div class="grid-body" role="rowgroup" style={{ height: `${tops.at(-1)}px` }}>
        {shown.map(index => {
          const row = rows[index]
          if (row === undefined) return undefined
          const place = { index, top: tops[index] ?? 0, active: index === current, onFocus: () => activate(row.id) }
          return isBranch(row) ? (
            <BranchRow key={row.id} {...place} branch={row} more={list.more} onTurn={() => turn([row], !row.isOpen)} />
          ) : (
            <GridRow
              key={row.id}
              {...place}
              inTree={tree}
              listing={row}
              row={entries.get(row.id) ?? BLANK}
              now={now}
              open={row.id === open}
              onOpen={() => go({ view: 'keys', id: row.id })}
            />
          )
        })}
      </div>
      {list.more && <Gap list={list} />}
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

/** The branches that stand where a row does. */
function siblings(rows: readonly TreeRow[], row: number): readonly Branch[] {
  const level = rows[row]?.level
  const above = parentOf(rows, row)
  const beyond = rows.findIndex((other, at) => at > row && other.level < (level ?? 1))
  return rows
    .slice(above + 1, beyond === -1 ? undefined : beyond)
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
