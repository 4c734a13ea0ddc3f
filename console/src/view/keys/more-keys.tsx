import type { JSX } from 'preact'
import { formatCount, pluralize } from '../../model/amount.js'
import { KEY_PAGE_SIZE, type KeyList } from '../../state/key-list.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'

/** Shows the end of an incomplete list, with a button that loads more keys. */
export function MoreKeys({ list: { keys, glob } }: { readonly list: KeyList }): JSX.Element {
  const { maxKeys$, stats$ } = useConsole()
  const maxKeys = useCell(maxKeys$)
  const all = useCell(stats$).last?.keys
  const isLoading = maxKeys > keys.length
  const remaining = glob === '*' && all !== undefined ? Math.max(0, all - keys.length) : undefined
  const missing =
    remaining === undefined
      ? 'More keys match, but are'
      : `${pluralize(remaining, 'key')} ${remaining === 1 ? 'is' : 'are'}`
  return (
    <div class="grid-gap">
      <span>{missing} not shown. They may sort anywhere in this list.</span>
      <button type="button" class="button" disabled={isLoading} onClick={() => maxKeys$.next(maxKeys + KEY_PAGE_SIZE)}>
        {isLoading ? 'Loading…' : `Load ${formatCount(Math.min(remaining ?? KEY_PAGE_SIZE, KEY_PAGE_SIZE))} more`}
      </button>
    </div>
  )
}
