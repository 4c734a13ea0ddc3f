import type { JSX } from 'preact'
import { counted } from '../../model/amount.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'
import { ClientRow } from './client-row.js'

/** More than these are not listed. */
const MOST_CLIENTS = 500

const CUTTING =
  'Cutting one ends its network connection without a word, as a pulled plug does: watch how the app comes back.'
const HEARD = 'Those that watch, or asked in the last minute: the broker tells the store no more.'

/** Who is connected, for how long, and what they watch. */
export function ClientsView(): JSX.Element {
  const { clients$, clientId, now$, facts$, pulses$ } = useConsole()
  const elsewhere = useCell(facts$)?.attached === true
  const serves = useCell(pulses$).last?.startedAt !== undefined
  const clients = Array.from(useCell(clients$)).sort((a, b) => (a.clientId < b.clientId ? -1 : 1))
  const now = useCell(now$)
  return (
    <main class="page">
      <div class="page-head">
        <h2>Clients</h2>
        <p class="hint">
          {serves
            ? `${counted(clients.length, elsewhere ? 'client' : 'connection')}${
                clients.length > MOST_CLIENTS ? `, the first ${MOST_CLIENTS} shown` : ''
              }. ${elsewhere ? HEARD : CUTTING}`
            : 'The store that serves knows them.'}
        </p>
      </div>
      <table class="table clients">
        <thead>
          <tr>
            <th scope="col">Client id</th>
            <th scope="col" class="number">
              {elsewhere ? 'Known for' : 'Connected for'}
            </th>
            <th scope="col" class="number">
              Watches
            </th>
            {!elsewhere && (
              <th scope="col">
                <span class="unseen">What can be done</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {clients.slice(0, MOST_CLIENTS).map(client => (
            <ClientRow
              key={client.clientId}
              client={client}
              now={now}
              own={client.clientId === clientId}
              elsewhere={elsewhere}
            />
          ))}
        </tbody>
      </table>
    </main>
  )
}
