import type { ComponentChildren, JSX } from 'preact'
import { formatCompact } from '../model/amount.js'
import type { Route } from '../model/route.js'
import { useConsole } from './parts/context.js'
import { UNKNOWN, useIsCurrent } from './parts/state-mark.js'
import { useCell } from './parts/use-cell.js'

/** Shows links to the views with their counts, and the toolbar of the current view. */
export function Nav({ children }: { readonly children?: ComponentChildren }): JSX.Element {
  const { route$, stats$, clients$ } = useConsole()
  const { view } = useCell(route$)
  const clients = useCell(clients$).length
  const { last } = useCell(stats$)
  const isCurrent = useIsCurrent()
  // A standby does not know the counts of the active store.
  const isServing = last?.startedAt
  const views: readonly { view: Route['view']; name: string; amount?: number | undefined }[] = [
    { view: 'keys', name: 'Keys', amount: isServing && last.keys },
    { view: 'clients', name: 'Clients', amount: isServing && clients },
    { view: 'store', name: 'Store' },
    { view: 'metrics', name: 'Metrics' },
  ]
  return (
    <div class="bar">
      <nav class="nav" aria-label="Views">
        {views.map(item => (
          <a key={item.view} href={`#/${item.view}`} aria-current={item.view === view ? 'page' : undefined}>
            <span class="nav-name" data-name={item.name}>
              {item.name}
            </span>
            {item.amount !== undefined && (
              <span class="nav-amount" data-amount={formatCompact(item.amount)}>
                {isCurrent ? formatCompact(item.amount) : UNKNOWN}
              </span>
            )}
          </a>
        ))}
      </nav>
      {children}
    </div>
  )
}
