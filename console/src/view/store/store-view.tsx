import type { JSX } from 'preact'
import { count } from '../../model/amount.js'
import { span } from '../../model/time.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { Activity } from './activity.js'
import { Card, Deed } from './card.js'
import { Failures } from './failures.js'
import { LoadButton } from './load-button.js'
import { Nodes } from './nodes.js'
import { ResetDeed } from './reset-deed.js'
import { Service } from './service.js'

/** The store as a whole: how busy it is, where it is, and what can be done to it. */
export function StoreView(): JSX.Element {
  const { facts$, pulses$ } = useConsole()
  const actions = useActions()
  const facts = useCell(facts$)
  const { last } = useCell(pulses$)
  const serves = last?.startedAt !== undefined
  const keysHint = serves ? `The store holds ${count(last.keys)}.` : 'The store that serves has them.'
  return (
    <main class="page">
      <Activity />
      {last?.cluster && <Nodes {...last.cluster} />}
      <div class="cards">
        {facts?.attached ? <Service at={facts.url} /> : <Failures isNode={last?.cluster !== undefined} />}
        <Card title="Keys" hint={keysHint}>
          {(facts?.seeded || !facts?.attached) && <ResetDeed seeded={facts?.seeded === true} />}
          <Deed title="Dump and load" hint="A line of JSON per key, with version, expiry and fencing token.">
            <button type="button" class="button" disabled={!serves} onClick={() => actions.dump()}>
              <Icon name="down" />
              Dump
            </button>
            <LoadButton disabled={!serves} />
          </Deed>
        </Card>
        <Card title="Where it is" hint="What an app connects to.">
          <Address name="MQTT" url={facts?.url} />
          <Address name="WebSocket" url={facts?.wsUrl} />
          <Since version={facts?.version} />
        </Card>
      </div>
    </main>
  )
}

function Address({ name, url }: { readonly name: string; readonly url: string | undefined }): JSX.Element {
  const actions = useActions()
  return (
    <div class="address">
      <span class="address-name">{name}</span>
      <code>{url ?? '–'}</code>
      <button
        type="button"
        class="icon-button"
        aria-label={`Copy the ${name} address`}
        disabled={url === undefined}
        onClick={() => url && actions.copy(url, url)}
      >
        <Icon name="copy" />
      </button>
    </div>
  )
}

function Since({ version }: { readonly version: string | undefined }): JSX.Element {
  const { pulses$, now$ } = useConsole()
  const { last } = useCell(pulses$)
  const now = useCell(now$)
  return (
    <p class="hint">
      rx-statestore {version ?? ''},{' '}
      {last?.startedAt === undefined ? 'not serving' : `up for ${span(now - last.startedAt)}`}
    </p>
  )
}
