import { BehaviorSubject } from 'rxjs'

export interface FoldState {
  readonly tree: boolean
  /** Open branches, with the most recently opened one last. */
  readonly open: readonly string[]
  /** Branches that were closed during a search, which starts with all branches open. */
  readonly closed: readonly string[]
}

const STORAGE_KEY = 'rx-statestore console tree'
/** Maximum number of remembered branches, and the maximum length of their paths. */
const MAX_REMEMBERED = 500
const MAX_PATH_CHARS = 500

/** The layout of keys, which is remembered in this browser. */
export class Folding {
  readonly fold$: BehaviorSubject<FoldState>
  readonly #storage: Pick<Storage, 'getItem' | 'setItem'>

  constructor(storage: Pick<Storage, 'getItem' | 'setItem'>) {
    this.#storage = storage
    this.fold$ = new BehaviorSubject<FoldState>({ ...loadStored(storage.getItem(STORAGE_KEY)), closed: [] })
  }

  /** Toggles between tree and list. @param reveal - branches to open */
  toggle(reveal: readonly string[] = []): void {
    const { tree, open } = this.fold$.value
    this.#update({ tree: !tree, open: tree ? open : union(open, reveal) })
  }

  /** Opens or closes branches. @param isSearching - whether the keys are search results */
  setOpen(paths: readonly string[], isOpen: boolean, isSearching: boolean): void {
    const { open, closed } = this.fold$.value
    if (isSearching) this.#update({ closed: isOpen ? without(closed, paths) : union(closed, paths) })
    else this.#update({ open: isOpen ? union(open, paths) : without(open, paths) })
  }

  clearClosed(): void {
    if (this.fold$.value.closed.length > 0) this.#update({ closed: [] })
  }

  #update(change: Partial<FoldState>): void {
    const fold = { ...this.fold$.value, ...change }
    this.fold$.next(fold)
    this.#storage.setItem(STORAGE_KEY, JSON.stringify({ tree: fold.tree, open: fold.open }))
  }
}

const without = (paths: readonly string[], others: readonly string[]): readonly string[] =>
  paths.filter(path => !others.includes(path))

const union = (paths: readonly string[], others: readonly string[]): readonly string[] =>
  [...without(paths, others), ...others.filter(path => path.length <= MAX_PATH_CHARS)].slice(-MAX_REMEMBERED)

function loadStored(text: string | null): Pick<FoldState, 'tree' | 'open'> {
  try {
    const { tree, open }: { tree?: unknown; open?: unknown } = Object(JSON.parse(text ?? '{}'))
    const paths = Array.isArray(open) ? open.filter(path => typeof path === 'string') : []
    return { tree: tree === true, open: union([], paths) }
  } catch {
    return { tree: false, open: [] }
  }
}
