import { BehaviorSubject } from 'rxjs'

/** How the keys are laid out. */
export interface Fold {
  /** By what they begin with, rather than one below the other. */
  readonly tree: boolean
  /** The branches that are open, the last one that was opened last. */
  readonly open: readonly string[]
  /** Those that were closed of the keys that were looked for, which begin with all open. */
  readonly shut: readonly string[]
}

const NAME = 'rx-statestore console tree'
/** So many branches, and none of more signs, are remembered. */
const MOST = 500
const LONGEST = 500

/** What the layout of keys was the last time, remembered in this browser. */
export class Folding {
  readonly fold$: BehaviorSubject<Fold>
  readonly #storage: Pick<Storage, 'getItem' | 'setItem'>

  constructor(storage: Pick<Storage, 'getItem' | 'setItem'>) {
    this.#storage = storage
    this.fold$ = new BehaviorSubject<Fold>({ ...kept(storage.getItem(NAME)), shut: [] })
  }

  /** Makes a tree of the list, or a list of the tree. @param reveal - what has to be open for a key to be seen */
  toggle(reveal: readonly string[] = []): void {
    const { tree, open } = this.fold$.value
    this.#turn({ tree: !tree, open: tree ? open : union(open, reveal) })
  }

  /** Opens branches, or closes them. @param searching - among keys that are looked for */
  turn(paths: readonly string[], isOpen: boolean, searching: boolean): void {
    const { open, shut } = this.fold$.value
    if (searching) this.#turn({ shut: isOpen ? without(shut, paths) : union(shut, paths) })
    else this.#turn({ open: isOpen ? union(open, paths) : without(open, paths) })
  }

  /** Something else is looked for. */
  forgetShut(): void {
    if (this.fold$.value.shut.length > 0) this.#turn({ shut: [] })
  }

  #turn(change: Partial<Fold>): void {
    const fold = { ...this.fold$.value, ...change }
    this.fold$.next(fold)
    this.#storage.setItem(NAME, JSON.stringify({ tree: fold.tree, open: fold.open }))
  }
}

const without = (paths: readonly string[], others: readonly string[]): readonly string[] =>
  paths.filter(path => !others.includes(path))

const union = (paths: readonly string[], others: readonly string[]): readonly string[] =>
  [...without(paths, others), ...others.filter(path => path.length <= LONGEST)].slice(-MOST)

/** What this browser kept, if it is ours. */
function kept(text: string | null): Pick<Fold, 'tree' | 'open'> {
  try {
    const { tree, open }: { tree?: unknown; open?: unknown } = Object(JSON.parse(text ?? '{}'))
    const paths = Array.isArray(open) ? open.filter(path => typeof path === 'string') : []
    return { tree: tree === true, open: union([], paths) }
  } catch {
    // Somebody else wrote it.
    return { tree: false, open: [] }
  }
}
