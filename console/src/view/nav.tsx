import type { ComponentChildren, JSX } from 'preact'
import { shortCount } from '../model/amount.js'
import type { Route } from '../model/route.js'
import { useConsole } from './context.js'
import { useCell } from './use-cell.js'

/** The three views and how much there is in them, and beside them what the view at hand needs. */
export function Nav({ children }: { readonly children?: ComponentChildren }): JSX.Element {
  const { route$, pulses$, clients$ } = useConsole()
  const { view } = useCell(route$)
  const clients = useCell(clients$).length
  const { last } = useCell(pulses$)
  // What another store has is not told here.
  const serves = last?.startedAt
  const views: readonly { view: Route['view']; name: string; amount?: number | undefined }[] = [
    { view: 'keys', name: 'Keys', amount: serves && last.keys },
    { view: 'clients', name: 'Clients', amount: serves && clients },
    { view: 'store', name: 'Store' },
  ]
  return (
    <div class="bar">
      <nav class="nav" aria-label="Views">
        {views.map(item => (
          <a key={item.view} href={`#/${item.view}`} aria-current={item.view === view ? 'page' : undefined}>
            <span class="nav-name" data-name={item.name}>
              {item.name}
            </span>
            {item.amount !== undefined && <span class="nav-amount">{shortCount(item.amount)}</span>}
          </a>
        ))}
      </nav>
      {children}
    </div>
  )
}
