import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ClientFacts, ClientResponse } from '../../../../src/server/console/contract.js'
import { formatCount } from '../../model/amount.js'
import { describeError } from '../../model/error-text.js'
import { sortByName, toListedKey } from '../../model/listed-key.js'
import { formatDuration } from '../../model/time.js'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'
import { UNKNOWN } from '../parts/state-mark.js'
import { useActions } from '../parts/use-actions.js'

export interface ClientRowProps {
  readonly client: ClientFacts
  /** The current time, ms on the store's clock; `undefined` while the client's connection is not known. */
  readonly now: number | undefined
  readonly isOwn: boolean
  /** Whether the client is connected to an external broker. */
  readonly isAttached: boolean
  /** Whether the page can disconnect the client. */
  readonly canDisconnect: boolean
  /** Whether the watched keys are shown. */
  readonly isOpen: boolean
  readonly onToggle: () => void
}

export function ClientRow(props: ClientRowProps): JSX.Element {
  const { client, now, isOwn, isAttached, canDisconnect, isOpen, onToggle } = props
  const actions = useActions()
  const { clientId, since, watches } = client
  const panel = `watches-${clientId}`
  return (
    <>
      <tr class="client">
        <th scope="row">
          <button type="button" class="disclosure" aria-expanded={isOpen} aria-controls={panel} onClick={onToggle}>
            <Icon name="next" />
            <span class="client-id">{clientId}</span>
          </button>
          {isOwn && <span class="tag">this page</span>}
        </th>
        <td class="number" data-label={isAttached ? 'known' : 'connected'}>
          {now === undefined ? UNKNOWN : formatDuration(now - since)}
        </td>
        <td class="number" data-label="watches">
          {now === undefined ? UNKNOWN : formatCount(watches)}
        </td>
        {canDisconnect && (
          <td class="actions">
            <button
              type="button"
              class="button small"
              aria-label={`Disconnect ${clientId}`}
              onClick={() => actions.disconnect(clientId)}
            >
              <Icon name="cut" />
              Disconnect
            </button>
          </td>
        )}
      </tr>
      {isOpen && (
        <tr class="client-watches" id={panel}>
          <td colSpan={4}>
            <WatchedKeys client={client} />
          </td>
        </tr>
      )}
    </>
  )
}

/** Shows the watched keys of a client. Requests them again after it reconnects and when their number changes. */
function WatchedKeys({ client: { clientId, since, watches } }: { readonly client: ClientFacts }): JSX.Element {
  const { api } = useConsole()
  const [answer, setAnswer] = useState<ClientResponse | string>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new connection or number of watches triggers a request
  useEffect(() => {
    const request = api
      .client(clientId)
      .subscribe({ next: setAnswer, error: (cause: unknown) => setAnswer(describeError(cause).title) })
    return () => request.unsubscribe()
  }, [api, clientId, since, watches])
  if (answer === undefined) return <p class="hint">Loading…</p>
  if (typeof answer === 'string') return <p class="hint">{answer}</p>
  if (answer.ids.length === 0) return <p class="hint">No watched keys.</p>
  const more = answer.watches - answer.ids.length
  return (
    <>
      <ul class="watched" aria-label={`Keys watched by ${clientId}`}>
        {sortByName(answer.ids.map(toListedKey)).map(({ id, name }) => (
          <li key={id}>
            <a href={`#/keys/${id}`}>{name}</a>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="hint">and {formatCount(more)} more</p>}
    </>
  )
}
