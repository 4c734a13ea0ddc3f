import type { JSX } from 'preact'
import { formatCount } from '../../model/amount.js'
import { timeOfDay } from '../../model/time.js'
import { changeTimesOf, type HistoryChange, type KeyHistory } from '../../state/history.js'
import { useConsole } from '../parts/context.js'
import { Marbles } from '../parts/marbles.js'
import { useCell } from '../parts/use-cell.js'
import { ValueLine } from '../parts/value.js'

const MARBLES_WIDTH = 360

export function HistoryList({ history }: { readonly history: KeyHistory }): JSX.Element {
  const now = useCell(useConsole().now$)
  const { changes, total } = history
  const countText =
    total > changes.length ? `the newest ${formatCount(changes.length)} of ${formatCount(total)}` : formatCount(total)
  return (
    <section class="history" aria-label="History">
      <h3>
        History <span class="hint">{total === 0 ? 'since opened' : `${countText} since opened`}</span>
      </h3>
      <Marbles changeTimes={changeTimesOf(history)} now={now} width={MARBLES_WIDTH} stretched />
      <ol class="history-list">
        {changes.map(change => (
          <ChangeLine key={change.n} change={change} />
        ))}
      </ol>
    </section>
  )
}

const ChangeLine = ({
  change: { op, at, version, line, kind, source },
}: {
  readonly change: HistoryChange
}): JSX.Element => (
  <li class={`change change-${op === 'set' ? 'set' : 'gone'}`}>
    <time class="change-time" title={version}>
      {timeOfDay(at)}
    </time>
    <span class="change-line">
      {kind ? <ValueLine preview={{ kind, line }} /> : <span class="value-gone">{line}</span>}
    </span>
    {source !== 'notification' && (
      <span class="change-source">{source === 'snapshot' ? 'initial' : 'after reconnect'}</span>
    )}
  </li>
)
