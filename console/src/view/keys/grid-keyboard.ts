import { type BranchRow, isBranch, type KeyRow, parentOf, type TreeRow } from '../../model/key-tree.js'

/** The part of the grid that keys of the keyboard act on. */
export interface GridKeyboard {
  readonly rows: readonly TreeRow[]
  /** Index of the active row. */
  readonly current: number
  /** Number of rows by which a page key moves. */
  readonly pageSize: number
  /** Whether branches can be opened and closed. */
  readonly tree: boolean
  moveTo(row: number): void
  setOpen(branches: readonly BranchRow[], isOpen: boolean): void
  /** Acts on a row of a key. Returns whether the pressed key has a meaning there. */
  actOnKey(pressed: string, row: KeyRow): boolean
}

/** Moves the active row, opens or closes branches, or acts on the active key. */
export function onKeyDown(event: KeyboardEvent, grid: GridKeyboard): void {
  const row = grid.rows[grid.current]
  if (event.ctrlKey || event.metaKey || event.altKey || row === undefined) return
  if (
    move(event.key, grid) ||
    (grid.tree && fold(event.key, row, grid)) ||
    (!isBranch(row) && grid.actOnKey(event.key, row))
  )
    event.preventDefault()
}

function move(pressed: string, { rows, current, pageSize, moveTo }: GridKeyboard): boolean {
  const to = targets(current, pageSize, rows.length)[pressed]
  if (to !== undefined) moveTo(to)
  return to !== undefined
}

const targets = (row: number, page: number, count: number): Readonly<Record<string, number>> => ({
  ArrowDown: row + 1,
  ArrowUp: row - 1,
  PageDown: row + page,
  PageUp: row - page,
  Home: 0,
  End: count - 1,
})

function fold(pressed: string, row: TreeRow, { rows, current, moveTo, setOpen }: GridKeyboard): boolean {
  const parent = parentOf(rows, current)
  if (isBranch(row) && ['Enter', ' ', row.isOpen ? 'ArrowLeft' : 'ArrowRight'].includes(pressed))
    setOpen([row], !row.isOpen)
  else if (isBranch(row) && pressed === 'ArrowRight') moveTo(current + 1)
  else if (pressed === 'ArrowLeft' && parent !== -1) moveTo(parent)
  else if (pressed === '*') setOpen(siblings(rows, current, parent), true)
  else return false
  return true
}

/** Returns the branches at the level of a row. */
function siblings(rows: readonly TreeRow[], row: number, parent: number): readonly BranchRow[] {
  const level = rows[row]?.level ?? 1
  const beyond = rows.findIndex((other, at) => at > row && other.level < level)
  return rows
    .slice(parent + 1, beyond === -1 ? undefined : beyond)
    .filter(isBranch)
    .filter(other => other.level === level)
}
