// biome-ignore-all lint/a11y/useSemanticElements: a table cannot position its rows
// biome-ignore-all lint/a11y/useFocusableInteractive: rows have the focus, not cells
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { isBranch, type KeyRow, type TreeRow } from '../../model/key-tree.js'
import type { KeyList } from '../../state/key-list.js'
import { EMPTY_ROW, type Row } from '../../state/row-cache.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'
import { BranchRow } from './branch-row.js'
import { COLUMNS } from './columns.js'
import { onKeyDown } from './grid-keyboard.js'
import { GridRow } from './grid-row.js'
import { MoreKeys } from './more-keys.js'
import { useCurrent } from './use-current.js'
import { type GridLayout, useGridLayout } from './use-grid-layout.js'
import { type Tree, useTree } from './use-tree.js'
import { useViewport } from './use-viewport.js'

interface GridProps {
  readonly list: KeyList
  readonly open: string | undefined
}

/**
 * Shows the keys as a grid or a tree, in which arrow keys move the focus and Enter opens a key. Only the visible rows
 * and the focused row are rendered. The focused row keeps the focus when it is scrolled out of view.
 */
export function Grid({ list, open }: GridProps): JSX.Element {
  const { rows$, health$ } = useConsole()
  const folded = useTree(list)
  const { tree, rows } = folded
  const entries = useCell(rows$)
  const isLive = useCell(health$).state === 'live'
  const viewport = useViewport()
  const { current, activate } = useCurrent(viewport.ref, rows)
  const layout = useGridLayout(viewport, rows)
  const actOnKey = useKeyActions(entries)
  useWatchedRows(rows, layout)

  const moveTo = (to: number): void => {
    const target = Math.max(0, Math.min(rows.length - 1, to))
    activate(rows[target]?.id)
    layout.scrollTo(target)
  }
  const keyboard = { ...folded, ...layout, current, moveTo, actOnKey }
  return (
    <div ref={viewport.ref} class={`grid ${tree ? 'grid-tree' : ''} ${isLive ? '' : 'grid-stale'}`}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the role is grid or treegrid */}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support them */}
      <div
        role={tree ? 'treegrid' : 'grid'}
        aria-label="Keys"
        aria-rowcount={rows.length + 1}
        aria-colcount={COLUMNS.length}
        onKeyDown={event => onKeyDown(event, keyboard)}
      >
        <Heads />
        <Rows {...folded} {...layout} {...{ list, open, entries, current, activate }} />
      </div>
      {list.more && <MoreKeys list={list} />}
    </div>
  )
}

/** Has the state watch the visible keys while the grid is shown. */
function useWatchedRows(rows: readonly TreeRow[], { first, end }: GridLayout): void {
  const { visible$ } = useConsole()
  useEffect(() => {
    visible$.next(rows.slice(first, end).flatMap(row => (isBranch(row) ? [] : [row.listed])))
  }, [visible$, rows, first, end])
  useEffect(() => () => visible$.next([]), [visible$])
}

function useKeyActions(entries: ReadonlyMap<string, Row>): (pressed: string, row: KeyRow) => boolean {
  const { dialog$, navigate } = useConsole()
  return (pressed, { listed }) => {
    const entry = entries.get(listed.id)?.entry
    if (pressed === 'Enter' || pressed === ' ') navigate({ view: 'keys', id: listed.id })
    else if (pressed === 'e' && entry) dialog$.next({ type: 'set', key: listed })
    else if (pressed === 'Delete' && entry?.value) dialog$.next({ type: 'delete', key: listed, value: entry.value })
    else return false
    return true
  }
}

interface RowsProps extends GridProps, Tree, GridLayout {
  readonly entries: ReadonlyMap<string, Row>
  readonly current: number
  activate(id: string | undefined): void
}

function Rows({
  list,
  open,
  tree,
  rows,
  setOpen,
  tops,
  first,
  end,
  entries,
  current,
  activate,
}: RowsProps): JSX.Element {
  const { now$, navigate } = useConsole()
  const now = useCell(now$)
  const rendered = Array.from({ length: end - first }, (_, i) => first + i)
  if (current < first || current >= end) rendered.push(current)
  return (
    <div class="grid-body" role="rowgroup" style={{ height: `${tops.at(-1)}px` }}>
      {rendered.map(index => {
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
  )
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
