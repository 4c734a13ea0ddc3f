import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { pluralize } from '../../model/amount.js'
import { useConsole } from '../parts/context.js'
import { useIsCurrent } from '../parts/state-mark.js'
import { useCell } from '../parts/use-cell.js'
import { ClientRow } from './client-row.js'

const MAX_CLIENTS = 500

const DISCONNECT_HINT = 'Disconnect drops the connection without a DISCONNECT packet, to test how an app reconnects.'
const ATTACHED_HINT = 'Clients that watch, or sent a request in the last minute; the broker reports no others.'

export function ClientsView(): JSX.Element {
  const { clients$, clientId, now$, facts$, stats$ } = useConsole()
  const { attached: isAttached = false, faults: canDisconnect = false } = useCell(facts$) ?? {}
  const isServing = useCell(stats$).last?.startedAt !== undefined
  const clients = Array.from(useCell(clients$)).sort((a, b) => (a.clientId < b.clientId ? -1 : 1))
  const now = useCell(now$)
  const isCurrent = useIsCurrent()
  // A client's row is removed while it reconnects, and opens again with it.
  const [openIds, setOpenIds] = useState<readonly string[]>([])
  const summary = !isCurrent
    ? clients.length === 0
      ? 'Waiting for the store…'
      : 'Last known clients; the store does not respond.'
    : isServing
      ? `${countText(clients.length, isAttached)}. ${isAttached ? ATTACHED_HINT : canDisconnect ? DISCONNECT_HINT : ''}`
      : 'Known to the active store only.'
  return (
    <main class="page">
      <div class="page-head">
        <h2>Clients</h2>
        <p class="hint">{summary}</p>
      </div>
      {clients.length > 0 && (
        <table class="table clients">
          <thead>
            <tr>
              <th scope="col">Client id</th>
              <th scope="col" class="number">
                {isAttached ? 'Known for' : 'Connected for'}
              </th>
              <th scope="col" class="number">
                Watches
              </th>
              {canDisconnect && (
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {clients.slice(0, MAX_CLIENTS).map(client => (
              <ClientRow
                key={client.clientId}
                client={client}
                now={isCurrent ? now : undefined}
                isOwn={client.clientId === clientId}
                isAttached={isAttached}
                canDisconnect={canDisconnect}
                isOpen={openIds.includes(client.clientId)}
                onToggle={() => setOpenIds(toggle(openIds, client.clientId))}
              />
            ))}
          </tbody>
        </table>
      )}
    </main>
  )
}

const toggle = (ids: readonly string[], id: string): readonly string[] =>
  ids.includes(id) ? ids.filter(other => other !== id) : [...ids, id]

const countText = (count: number, isAttached: boolean): string =>
  pluralize(count, isAttached ? 'client' : 'connection') +
  (count > MAX_CLIENTS ? `, the first ${MAX_CLIENTS} shown` : '')
