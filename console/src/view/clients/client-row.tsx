import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ClientFacts, ClientResponse } from '../../../../src/server/console/contract.js'
import { count } from '../../model/amount.js'
import { inOrder, listed } from '../../model/listed-key.js'
import { span } from '../../model/time.js'
import { inWords } from '../../model/words.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { useActions } from '../use-actions.js'

/** A client. */
export interface ClientRowProps {
  readonly client: ClientFacts
  /** ms on the store's clock. */
  readonly now: number
  /** Whether it is this page itself. */
  readonly own: boolean
  /** Whether its connection is at the broker of somebody else. */
  readonly elsewhere: boolean
}

/** A client, and below it what it watches, if somebody wants to know. */
export function ClientRow({ client, now, own, elsewhere }: ClientRowProps): JSX.Element {
  const actions = useActions()
  const [open, setOpen] = useState(false)
  const { clientId, since, watches } = client
  const panel = `watches-${clientId}`
  return (
    <>
      <tr class="client">
        <th scope="row">
          <button
            type="button"
            class="disclosure"
            aria-expanded={open}
            aria-controls={panel}
            onClick={() => setOpen(!open)}
          >
            <Icon name="next" />
            <span class="client-id">{clientId}</span>
          </button>
          {own && <span class="tag">this page</span>}
        </th>
        <td class="number" data-label={elsewhere ? 'known' : 'connected'}>
          {span(now - since)}
        </td>
        <td class="number" data-label="watches">
          {count(watches)}
        </td>
        {!elsewhere && (
          <td class="actions">
            <button
              type="button"
              class="button small"
              aria-label={`Cut ${clientId}`}
              onClick={() => actions.cut(clientId)}
            >
              <Icon name="cut" />
              Cut
            </button>
          </td>
        )}
      </tr>
      {open && (
        <tr class="client-watches" id={panel}>
          <td colSpan={4}>
            <Watched client={client} />
          </td>
        </tr>
      )}
    </>
  )
}

/** Asked for anew whenever there are more or fewer of them. */
function Watched({ client: { clientId, watches } }: { readonly client: ClientFacts }): JSX.Element {
  const { api } = useConsole()
  const [answer, hold] = useState<ClientResponse | string>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: another number of watches is the reason to ask again
  useEffect(() => {
    const asked = api.client(clientId).subscribe({ next: hold, error: (cause: unknown) => hold(inWords(cause).title) })
    return () => asked.unsubscribe()
  }, [api, clientId, watches])
  if (answer === undefined) return <p class="hint">Asking…</p>
  if (typeof answer === 'string') return <p class="hint">{answer}</p>
  if (answer.ids.length === 0) return <p class="hint">Watches no key.</p>
  const more = answer.watches - answer.ids.length
  return (
    <>
      <ul class="watched" aria-label={`Keys that ${clientId} watches`}>
        {inOrder(answer.ids.map(listed)).map(({ id, name }) => (
          <li key={id}>
            <a href={`#/keys/${id}`}>{name}</a>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="hint">and {count(more)} more</p>}
    </>
  )
}
