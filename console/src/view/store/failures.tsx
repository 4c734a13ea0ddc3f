import type { JSX } from 'preact'
import { left } from '../../model/time.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { Card, Deed } from './card.js'

const FREEZES = [5_000, 30_000, 120_000]

/** What a store with a broker of its own can be made to do. @param isNode - whether others have its keys as well */
export function Failures({ isNode }: { readonly isNode: boolean }): JSX.Element {
  const { dialog$ } = useConsole()
  const actions = useActions()
  return (
    <Card title="Try out failures" hint="See how an app takes it. To cut a single client, look under Clients.">
      <Deed title="Freeze" hint="Connections stay open, and nothing moves.">
        <Freeze />
      </Deed>
      <Deed title="Restart" hint="Ends all connections and starts anew on the same ports.">
        <button type="button" class="button" onClick={() => actions.restart('kept')}>
          <Icon name="restart" />
          Keep the keys
        </button>
        {!isNode && (
          <button type="button" class="button danger" onClick={() => dialog$.next({ type: 'lose' })}>
            <Icon name="restart" />
            Lose the keys…
          </button>
        )}
      </Deed>
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
        Thaw now, {left(health.until - now)} left
      </button>
    )
  }
  return (
    <>
      {FREEZES.map(ms => (
        <button key={ms} type="button" class="button" onClick={() => actions.freeze(ms)}>
          <Icon name="snow" />
          <span>
            <span class="unseen">Freeze for </span>
            {ms < 60_000 ? `${ms / 1_000} s` : `${ms / 60_000} min`}
          </span>
        </button>
      ))}
    </>
  )
}
