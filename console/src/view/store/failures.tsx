import type { JSX } from 'preact'
import { formatRemaining } from '../../model/time.js'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'
import { useActions } from '../parts/use-actions.js'
import { useCell } from '../parts/use-cell.js'
import { Action, Card } from './card.js'

const FREEZE_DURATIONS_MS = [5_000, 30_000, 120_000]

/**
 * Shows failures to simulate, for a store with a built-in broker.
 *
 * @param isNode - whether other nodes also hold the keys
 */
export function Failures({ isNode }: { readonly isNode: boolean }): JSX.Element {
  const { dialog$ } = useConsole()
  const actions = useActions()
  return (
    <Card title="Simulate failures" hint="Test how an app reacts. To disconnect a single client, see Clients.">
      <Action title="Freeze" hint="Connections stay open, but nothing is processed.">
        <Freeze />
      </Action>
      <Action title="Restart" hint="Closes all connections and starts again on the same ports.">
        <button type="button" class="button" onClick={() => actions.restart('kept')}>
          <Icon name="restart" />
          Keep keys
        </button>
        {!isNode && (
          <button type="button" class="button danger" onClick={() => dialog$.next({ type: 'lose' })}>
            <Icon name="restart" />
            Discard keys…
          </button>
        )}
      </Action>
    </Card>
  )
}

function Freeze(): JSX.Element {
  const { health$, now$ } = useConsole()
  const actions = useActions()
  const health = useCell(health$)
  const now = useCell(now$)
  if (health.state === 'frozen') {
    return (
      <button type="button" class="button primary" onClick={() => actions.freeze(0)}>
        Resume, {formatRemaining(health.until - now)} left
      </button>
    )
  }
  return (
    <>
      {FREEZE_DURATIONS_MS.map(ms => (
        <button key={ms} type="button" class="button" onClick={() => actions.freeze(ms)}>
          <Icon name="frozen" />
          <span>
            <span class="unseen">Freeze for </span>
            {ms < 60_000 ? `${ms / 1_000} s` : `${ms / 60_000} min`}
          </span>
        </button>
      ))}
    </>
  )
}
