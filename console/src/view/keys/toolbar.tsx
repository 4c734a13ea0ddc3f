import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { count, counted } from '../../model/amount.js'
import { pathsOf } from '../../model/key-tree.js'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { useCell } from '../use-cell.js'
import { mayBeTree } from './use-tree.js'

/** The search, what it found, and the way to a new key. */
export function Toolbar(): JSX.Element {
  const { typed$, pulses$, dialog$, list$ } = useConsole()
  const typed = useCell(typed$)
  const all = useCell(pulses$).last?.keys
  return (
    <div class="toolbar">
      <search class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          aria-label="Search keys by glob"
          aria-describedby="found"
          placeholder="Search: asset/* or a word"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => typed$.next(currentTarget.value)}
        />
        <kbd class="search-key">/</kbd>
      </search>
      <p class="found" id="found">
        {foundWords(useCell(list$), all)}
      </p>
      <TreeSwitch />
      <button type="button" class="button primary" onClick={() => dialog$.next({ type: 'set' })}>
        <Icon name="plus" />
        <span>
          Set<span class="wide-only"> a key</span>
        </span>
      </button>
    </div>
  )
}

/** There is nothing to choose where no key has a `/`. */
function TreeSwitch(): JSX.Element | undefined {
  const { list$, folding, open$ } = useConsole()
  const { tree } = useCell(folding.fold$)
  const { keys } = useCell(list$)
  const open = useCell(open$)
  const possible = useMemo(() => mayBeTree(keys), [keys])
  if (!possible) return undefined
  return (
    <button
      type="button"
      class="button tree-switch"
      aria-pressed={tree}
      title="Group keys by / (t)"
      onClick={() => folding.toggle(open && pathsOf(open))}
    >
      <Icon name="tree" />
      Tree
    </button>
  )
}

function foundWords({ keys, more, glob, state }: KeyList, all: number | undefined): ComponentChildren {
  const fits = glob === '*' ? '' : <code class="found-glob">{glob}</code>
  if (state === 'listing' && keys.length === 0) return <>Looking… {fits}</>
  if (!more) return [counted(keys.length, 'key'), ' ', fits]
  if (glob !== '*') return [`${count(keys.length)} shown, there are more `, fits]
  return `${count(keys.length)}${all === undefined ? '' : ` of ${count(all)}`} shown`
}
