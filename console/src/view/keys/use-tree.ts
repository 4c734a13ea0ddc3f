import { useEffect, useMemo } from 'preact/hooks'
import { type BranchRow, listRows, pathsOf, type TreeRow, treeRows } from '../../model/key-tree.js'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'

/** The keys as they are laid out. */
export interface Tree {
  /** Whether it is a tree, and no list. */
  readonly tree: boolean
  readonly rows: readonly TreeRow[]
  turn(branches: readonly BranchRow[], isOpen: boolean): void
}

/** Lays out the keys as somebody wants them. Of those that are looked for all branches are open to begin with. */
export function useTree({ keys, glob }: KeyList): Tree {
  const { folding } = useConsole()
  const fold = useCell(folding.fold$)
  const tree = useMemo(() => fold.tree && mayBeTree(keys), [fold.tree, keys])
  const searching = glob !== '*'
  const rows = useMemo(() => {
    if (!tree) return listRows(keys)
    const turned = new Set(searching ? fold.shut : fold.open)
    return treeRows(keys, path => turned.has(path) !== searching)
  }, [tree, keys, searching, fold])
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about what is looked for
  useEffect(() => () => folding.forgetShut(), [folding, glob])
  return {
    tree,
    rows,
    turn: (branches, isOpen) =>
      folding.turn(
        branches.flatMap(({ paths }) => paths),
        isOpen,
        searching,
      ),
  }
}

/** Whether keys have something in common that a tree could show. */
export const mayBeTree = (keys: KeyList['keys']): boolean => keys.some(key => pathsOf(key).length > 0)
