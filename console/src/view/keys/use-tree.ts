import { useEffect, useMemo } from 'preact/hooks'
import { type BranchRow, listRows, pathsOf, type TreeRow, treeRows } from '../../model/key-tree.js'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'

export interface Tree {
  readonly tree: boolean
  readonly rows: readonly TreeRow[]
  setOpen(branches: readonly BranchRow[], isOpen: boolean): void
}

/** Returns the keys as a tree or a list. Search results start with all branches open. */
export function useTree({ keys, glob }: KeyList): Tree {
  const { folding } = useConsole()
  const fold = useCell(folding.fold$)
  const tree = useMemo(() => fold.tree && canBeTree(keys), [fold.tree, keys])
  const isSearching = glob !== '*'
  const rows = useMemo(() => {
    if (!tree) return listRows(keys)
    const toggled = new Set(isSearching ? fold.closed : fold.open)
    return treeRows(keys, path => toggled.has(path) !== isSearching)
  }, [tree, keys, isSearching, fold])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new search resets it
  useEffect(() => () => folding.clearClosed(), [folding, glob])
  return {
    tree,
    rows,
    setOpen: (branches, isOpen) =>
      folding.setOpen(
        branches.flatMap(({ paths }) => paths),
        isOpen,
        isSearching,
      ),
  }
}

/** Returns whether any key has a prefix to group by. */
export const canBeTree = (keys: KeyList['keys']): boolean => keys.some(key => pathsOf(key).length > 0)
