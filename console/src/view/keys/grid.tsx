// biome-ignore-all lint/a11y/useSemanticElements: a table cannot place its rows by itself
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the focus, and no cell needs it
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ListedKey } from '../../model/listed-key.js'
import { scrollToShow, type Viewport, visibleRows } from '../../model/window.js'
import type { KeyList } from '../../state/key-list.js'
import { BLANK } from '../../state/row-book.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'
import { COLUMNS, type Filled, filledColumns } from './columns.js'
import { Gap } from './gap.js'
import { GridRow } from './grid-row.js'
import { useCurrent } from './use-current.js'
import { useViewport } from './use-viewport.js'

/** Narrower than this and rows become cards; as in the style sheet. CSS pixels. */
const NARROW = 640
const ROW = { wide: 34, narrow: 78 }
/** Of the column heads, which stand over the rows. */
const HEAD = 30

/**
 * The keys as a grid: the arrows move, Enter opens. Only the rows to be seen exist, and the one with the focus, so that
 * it keeps it when it is scrolled away.
 */
export function Grid({ list, open }: { readonly list: KeyList; readonly open: string | undefined }): JSX.Element {
  const { rows$, now$, health$, visible$, dialog$, go } = useConsole()
  const { keys } = list
  const rows = useCell(rows$)
  const now = useCell(now$)
  const filled = useRef<Filled>(undefined)
  filled.current = filledColumns(rows, filled.current)
  const { ttl, token } = filled.current ?? { ttl: true, token: true }
  const stale = useCell(health$).state !== 'live'
  const { ref, seen } = useViewport()
  const { current, activate } = useCurrent(ref, keys)
  const narrow = seen.width < NARROW
  const rowHeight = narrow ? ROW.narrow : ROW.wide
  const height = seen.height - (narrow ? 0 : HEAD)
  const viewport: Viewport = { scrollTop: seen.scrollTop, height, rowHeight, count: keys.length }
  const { first, end } = visibleRows(viewport)

  useEffect(() => visible$.next(keys.slice(first, end)), [visible$, keys, first, end])
  useEffect(() => () => visible$.next([]), [visible$])

  const move = (to: number): void => {
    const target = Math.max(0, Math.min(keys.length - 1, to))
    activate(keys[target]?.id)
    if (ref.current) ref.current.scrollTop = scrollToShow(target, { ...viewport, scrollTop: ref.current.scrollTop })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height / rowHeight) - 1)
    const to = targets(current, page, keys.length)[event.key]
    const key = keys[current]
    if (event.ctrlKey || event.metaKey || event.altKey || key === undefined) return
    if (to !== undefined) move(to)
    else if (!act(event.key, key)) return
    event.preventDefault()
  }
  const act = (pressed: string, key: ListedKey): boolean => {
    const entry = rows.get(key.id)?.entry
    if (pressed === 'Enter' || pressed === ' ') go({ view: 'keys', id: key.id })
    else if (pressed === 'e' && entry) dialog$.next({ type: 'set', key })
    else if (pressed === 'Delete' && entry?.value) dialog$.next({ type: 'delete', key, value: entry.value })
    else return false
    return true
  }

  const shown = Array.from({ length: end - first }, (_, i) => first + i)
  if (current < first || current >= end) shown.push(current)
  return (
    <div
      ref={ref}
      class={`grid ${narrow ? 'grid-narrow' : ''} ${stale ? 'grid-stale' : ''} ${ttl ? '' : 'grid-no-ttl'} ${token ? '' : 'grid-no-token'}`}
      role="grid"
      aria-label="Keys"
      aria-rowcount={keys.length + 1}
      aria-colcount={COLUMNS.length}
      onKeyDown={onKeyDown}
    >
      <Heads />
      <div class="grid-body" role="rowgroup" style={{ height: `${keys.length * rowHeight}px` }}>
        {shown.map(index => {
          const key = keys[index]
          return (
            key && (
              <GridRow
                key={key.id}
                listed={key}
                index={index}
                top={index * rowHeight}
                row={rows.get(key.id) ?? BLANK}
                now={now}
                active={index === current}
                open={key.id === open}
                onFocus={() => activate(key.id)}
                onOpen={() => go({ view: 'keys', id: key.id })}
              />
            )
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
