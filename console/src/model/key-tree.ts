import type { ListedKey } from './listed-key.js'

/** A key as a row: in a tree it is below the branches it belongs to. */
export interface KeyRow {
  readonly id: string
  readonly listed: ListedKey
  /** What it is called where it stands. */
  readonly own: string
  /** From 1 for those that stand at the margin. */
  readonly level: number
  /** Its place among those of its branch, from 1, and how many those are. */
  readonly place: number
  readonly of: number
}

/** What keys have in common up to a `/`, as a row that opens and closes. */
export interface BranchRow extends Omit<KeyRow, 'listed'> {
  /** Number of keys below it. */
  readonly keys: number
  readonly isOpen: boolean
  /** The beginnings it stands for: several, if there is nothing else in them. */
  readonly paths: readonly string[]
}

/** A row of the list, or of the tree. */
export type TreeRow = KeyRow | BranchRow

/** Whether a row is a branch, and no key. */
export const isBranch = (row: TreeRow): row is BranchRow => 'paths' in row

/** A key may have thousands of `/`; from here on they are a part of what it is called. */
const DEEPEST = 12

interface Branch {
  readonly path: string
  keys: number
  readonly branches: Map<string, Branch>
  /** In the order of the keys: a branch stands where its first key would. */
  readonly content: (ListedKey | Branch)[]
}

/** What a key begins with, `/` by `/`; nothing for bytes, whose name is none. */
export function pathsOf({ name, binary }: ListedKey): readonly string[] {
  const paths: string[] = []
  if (binary) return paths
  // One at the end belongs to the name of the key, for there must be one.
  for (let at = name.indexOf('/'); at !== -1 && at < name.length - 1; at = name.indexOf('/', at + 1)) {
    if (paths.length === DEEPEST) break
    paths.push(name.slice(0, at + 1))
  }
  return paths
}

/** All keys, one below the other. */
export const listRows = (keys: readonly ListedKey[]): readonly TreeRow[] =>
  keys.map((listed, i) => ({ id: listed.id, listed, own: listed.name, level: 1, place: i + 1, of: keys.length }))

/** The keys by what they begin with: those in branches that are open, and the branches. */
export function treeRows(keys: readonly ListedKey[], isOpen: (path: string) => boolean): readonly TreeRow[] {
  const rows: TreeRow[] = []
  lay(grow(keys), 1, isOpen, rows)
  return rows
}

function grow(keys: readonly ListedKey[]): Branch {
  const root = branchAt('')
  for (const key of keys) {
    let branch = root
    branch.keys++
    for (const path of pathsOf(key)) {
      const known = branch.branches.get(path)
      const next = known ?? branchAt(path)
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

const branchAt = (path: string): Branch => ({ path, keys: 0, branches: new Map(), content: [] })

function lay({ path, content }: Branch, level: number, isOpen: (path: string) => boolean, rows: TreeRow[]): void {
  for (const [i, one] of content.entries()) {
    const where = { level, place: i + 1, of: content.length }
    if (!('content' in one)) {
      rows.push({ ...where, id: one.id, listed: one, own: one.name.slice(path.length) })
      continue
    }
    const paths = [one.path]
    const last = innermost(one, paths)
    const open = isOpen(last.path)
    rows.push({ ...where, id: last.path, own: last.path.slice(path.length), keys: last.keys, isOpen: open, paths })
    if (open) lay(last, level + 1, isOpen, rows)
  }
}

/** Branches with nothing but another branch in them are one row with that. */
function innermost(branch: Branch, paths: string[]): Branch {
  const [only, ...others] = branch.content
  if (only === undefined || others.length > 0 || !('content' in only)) return branch
  paths.push(only.path)
  return innermost(only, paths)
}

/** The place of the branch a row belongs to; -1 at the margin. */
export function parentOf(rows: readonly TreeRow[], row: number): number {
  const level = rows[row]?.level ?? 1
  for (let at = row - 1; at >= 0; at--) if ((rows[at]?.level ?? 0) < level) return at
  return -1
}
