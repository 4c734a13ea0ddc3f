import type { JSX } from 'preact'
import { count } from '../../model/amount.js'
import { timeOfDay } from '../../model/time.js'
import type { Change, Seen } from '../../state/history.js'
import { useConsole } from '../context.js'
import { Marbles } from '../marbles.js'
import { useCell } from '../use-cell.js'
import { ValueLine } from '../value.js'

const MARBLES = 360

/** What happened to the key since it was opened, the newest first. */
export function HistoryList({ seen }: { readonly seen: Seen }): JSX.Element {
  const now = useCell(useConsole().now$)
  const { changes, total, beats } = seen
  const forgotten = total > changes.length ? `the newest ${count(changes.length)} of ${count(total)}` : count(total)
  return (
    <section class="history" aria-label="History">
      <h3>
        History <span class="hint">{total === 0 ? 'since it was opened' : `${forgotten} since it was opened`}</span>
      </h3>
      <Marbles beats={beats} now={now} width={MARBLES} />
      <ol class="history-list">
        {changes.map(change => (
          <Line key={change.n} change={change} />
        ))}
      </ol>
    </section>
  )
}

const Line = ({ change: { op, at, version, line, kind, source } }: { readonly change: Change }): JSX.Element => (
  <li class={`change change-${op === 'set' ? 'set' : 'gone'}`}>
    <time class="change-time" title={version}>
      {timeOfDay(at)}
    </time>
    <span class="change-line">
      {kind ? <ValueLine shown={{ kind, line }} /> : <span class="value-gone">{line}</span>}
    </span>
    {source !== 'notification' && (
      <span class="change-source">{source === 'snapshot' ? 'as found' : 'after a reconnect'}</span>
    )}
  </li>
)
