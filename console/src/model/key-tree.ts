import type { ListedKey } from './listed-key.js'

export interface KeyRow {
  readonly id: string
  readonly listed: ListedKey
  /** The displayed name, without the path of the branch. */
  readonly label: string
  /** The level in the tree, from 1. */
  readonly level: number
  /** The position of the row among its siblings, from 1, and the number of siblings. */
  readonly position: number
  readonly setSize: number
}

/** A row for a common prefix of keys up to a `/`, which the user can collapse. */
export interface BranchRow extends Omit<KeyRow, 'listed'> {
  readonly keys: number
  readonly isOpen: boolean
  /** The prefixes that the row represents: several if each contains only the next. */
  readonly paths: readonly string[]
}

export type TreeRow = KeyRow | BranchRow

export const isBranch = (row: TreeRow): row is BranchRow => 'paths' in row

/** Maximum depth of the tree. Deeper segments are not split, because a key may have thousands of `/`. */
const MAX_DEPTH = 12

interface Branch {
  readonly path: string
  keys: number
  readonly branches: Map<string, Branch>
  /** The content in key order. A branch is at the position of its first key. */
  readonly content: (ListedKey | Branch)[]
}

/** Returns the prefixes of a key that end in `/`. A binary key has none. */
export function pathsOf({ name, binary }: ListedKey): readonly string[] {
  const paths: string[] = []
  if (binary) return paths
  // A trailing slash belongs to the last segment, which must not be empty.
  for (let at = name.indexOf('/'); at !== -1 && at < name.length - 1; at = name.indexOf('/', at + 1)) {
    if (paths.length === MAX_DEPTH) break
    paths.push(name.slice(0, at + 1))
  }
  return paths
}

export const listRows = (keys: readonly ListedKey[]): readonly TreeRow[] =>
  keys.map((listed, i) => ({
    id: listed.id,
    listed,
    label: listed.name,
    level: 1,
    position: i + 1,
    setSize: keys.length,
  }))

export function treeRows(keys: readonly ListedKey[], isOpen: (path: string) => boolean): readonly TreeRow[] {
  const rows: TreeRow[] = []
  flatten(buildTree(keys), 1, isOpen, rows)
  return rows
}

function buildTree(keys: readonly ListedKey[]): Branch {
  const root = createBranch('')
  for (const key of keys) {
    let branch = root
    branch.keys++
    for (const path of pathsOf(key)) {
      const known = branch.branches.get(path)
      const next = known ?? createBranch(path)
      if (known === undefined) {
        branch.branches.set(path, next)
        branch.content.push(next)
      }
      next.keys++
      branch = next
    }
    branch.content.push(key)
  }
  return root
}

const createBranch = (path: string): Branch => ({ path, keys: 0, branches: new Map(), content: [] })

function flatten({ path, content }: Branch, level: number, isOpen: (path: string) => boolean, rows: TreeRow[]): void {
  for (const [i, child] of content.entries()) {
    const shared = { level, position: i + 1, setSize: content.length }
    if (!('content' in child)) {
      rows.push({ ...shared, id: child.id, listed: child, label: child.name.slice(path.length) })
      continue
    }
    const paths = [child.path]
    const last = collapseChain(child, paths)
    const open = isOpen(last.path)
    rows.push({ ...shared, id: last.path, label: last.path.slice(path.length), keys: last.keys, isOpen: open, paths })
    if (open) flatten(last, level + 1, isOpen, rows)
  }
}

/** Merges branches that contain only one other branch into a single row. */
function collapseChain(branch: Branch, paths: string[]): Branch {
  const [only, ...others] = branch.content
  if (only === undefined || others.length > 0 || !('content' in only)) return branch
  paths.push(only.path)
  return collapseChain(only, paths)
}

/** Returns the index of the parent row, or -1 at the root. */
export function parentOf(rows: readonly TreeRow[], row: number): number {
  const level = rows[row]?.level ?? 1
  for (let at = row - 1; at >= 0; at--) if ((rows[at]?.level ?? 0) < level) return at
  return -1
}
