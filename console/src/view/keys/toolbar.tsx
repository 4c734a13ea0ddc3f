import type { ComponentChildren, JSX } from 'preact'
import { count, counted } from '../../model/amount.js'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { useCell } from '../use-cell.js'

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
      <button type="button" class="button primary" onClick={() => dialog$.next({ type: 'set' })}>
        <Icon name="plus" />
        <span>
          Set<span class="wide-only"> a key</span>
        </span>
      </button>
    </div>
  )
}

function foundWords({ keys, more, glob, state }: KeyList, all: number | undefined): ComponentChildren {
  const fits = glob === '*' ? '' : <code class="found-glob">{glob}</code>
  if (state === 'listing' && keys.length === 0) return <>Looking… {fits}</>
  if (!more) return [counted(keys.length, 'key'), ' ', fits]
  if (glob !== '*') return [`${count(keys.length)} shown, there are more `, fits]
  return `${count(keys.length)}${all === undefined ? '' : ` of ${count(all)}`} shown`
}
