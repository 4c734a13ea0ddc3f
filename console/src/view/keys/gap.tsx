import type { JSX } from 'preact'
import { count, counted } from '../../model/amount.js'
import { type KeyList, MOST_KEYS } from '../../state/key-list.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'

/** The end of a list that is not whole: it says so, and offers more. */
export function Gap({ list: { keys, glob } }: { readonly list: KeyList }): JSX.Element {
  const { most$, pulses$ } = useConsole()
  const most = useCell(most$)
  const all = useCell(pulses$).last?.keys
  const waits = most > keys.length
  const left = glob === '*' && all !== undefined ? Math.max(0, all - keys.length) : undefined
  const missing = left === undefined ? 'More keys fit, and are' : `${counted(left, 'key')} ${left === 1 ? 'is' : 'are'}`
  return (
    <div class="grid-gap" role="note">
      <span>{missing} not shown; what is missing may belong anywhere between these.</span>
      <button type="button" class="button" disabled={waits} onClick={() => most$.next(most + MOST_KEYS)}>
        {waits ? 'Loading…' : `Load ${count(Math.min(left ?? MOST_KEYS, MOST_KEYS))} more`}
      </button>
    </div>
  )
}
