import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { formatCount, pluralize } from '../../model/amount.js'
import { toGlob } from '../../model/glob.js'
import { pathsOf } from '../../model/key-tree.js'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'
import { useCell } from '../parts/use-cell.js'
import { canBeTree } from './use-tree.js'

export function Toolbar(): JSX.Element {
  const { searchText$, stats$, dialog$, list$, health$ } = useConsole()
  const typed = useCell(searchText$)
  const all = useCell(stats$).last?.keys
  const isWaiting = useCell(health$).state !== 'live'
  return (
    <search class="toolbar">
      <div class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          aria-label="Search keys by glob"
          aria-describedby="found"
          placeholder="asset/* or a word"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => searchText$.next(currentTarget.value)}
        />
        <kbd class="search-key">/</kbd>
      </div>
      <p class="found" id="found">
        {searchSummary(useCell(list$), all, isWaiting && toGlob(typed))}
      </p>
      <TreeSwitch />
      <button type="button" class="button primary" onClick={() => dialog$.next({ type: 'set' })}>
        <Icon name="plus" />
        <span>
          Set<span class="wide-only"> a key</span>
        </span>
      </button>
    </search>
  )
}

/** Shows the switch between tree and list, unless no key contains a `/`. */
function TreeSwitch(): JSX.Element | undefined {
  const { list$, folding, open$ } = useConsole()
  const { tree } = useCell(folding.fold$)
  const { keys } = useCell(list$)
  const open = useCell(open$)
  const possible = useMemo(() => canBeTree(keys), [keys])
  if (!possible) return undefined
  return (
    <button
      type="button"
      class="button tree-switch"
      aria-label="Tree"
      aria-pressed={tree}
      title="Group keys by / (t)"
      onClick={() => folding.toggle(open && pathsOf(open))}
    >
      <Icon name="tree" />
      <span class="wide-only">Tree</span>
    </button>
  )
}

/** @param waiting - the glob that was typed, if the store does not respond */
function searchSummary(
  { keys, more, glob, state }: KeyList,
  all: number | undefined,
  waiting: string | false,
): ComponentChildren {
  // The keys of the last search stay in the list.
  if (waiting && waiting !== glob) return <>Search waits for the store {labelOf(waiting)}</>
  const globLabel = labelOf(glob)
  if (state === 'listing' && keys.length === 0) return glob === '*' ? '' : <>Searching… {globLabel}</>
  if (!more) return [pluralize(keys.length, 'key'), ' ', globLabel]
  if (glob !== '*') return [`${formatCount(keys.length)} shown, more match `, globLabel]
  return `${formatCount(keys.length)}${all === undefined ? '' : ` of ${formatCount(all)}`} shown`
}

const labelOf = (glob: string): ComponentChildren => (glob === '*' ? '' : <code class="found-glob">{glob}</code>)
