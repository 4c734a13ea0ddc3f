import type { JSX } from 'preact'
import { formatCount } from '../../model/amount.js'
import { formatDuration } from '../../model/time.js'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'
import { UNKNOWN, useIsCurrent } from '../parts/state-mark.js'
import { useActions } from '../parts/use-actions.js'
import { useCell } from '../parts/use-cell.js'
import { Activity } from './activity.js'
import { Action, Card } from './card.js'
import { Failures } from './failures.js'
import { LoadButton } from './load-button.js'
import { Nodes } from './nodes.js'
import { ResetAction } from './reset-action.js'
import { Service } from './service.js'

export function StoreView(): JSX.Element {
  const { facts$, stats$ } = useConsole()
  const actions = useActions()
  const facts = useCell(facts$)
  const { last } = useCell(stats$)
  const isServing = last?.startedAt !== undefined
  const keyCount = useIsCurrent() ? formatCount(last?.keys ?? 0) : UNKNOWN
  const keysHint = isServing ? `${keyCount} in the store.` : 'Held by the active store.'
  return (
    <main class="page">
      <Activity />
      {last?.cluster && <Nodes cluster={last.cluster} />}
      <div class="cards">
        {facts?.attached && <Service at={facts.url} />}
        {facts?.faults && <Failures isNode={last?.cluster !== undefined} />}
        <Card title="Keys" hint={keysHint}>
          {(facts?.seeded || !facts?.attached) && <ResetAction seeded={facts?.seeded === true} />}
          <Action title="Dump and load" hint="One JSON line per key, with version, expiry and fencing token.">
            <button type="button" class="button" disabled={!isServing} onClick={() => actions.dump()}>
              <Icon name="down" />
              Dump
            </button>
            <LoadButton disabled={!isServing} />
          </Action>
        </Card>
        <Card title="Addresses" hint="Where apps connect.">
          <Address name="MQTT" url={facts?.url} />
          <Address name="WebSocket" url={facts?.wsUrl} />
          <Uptime version={facts?.version} />
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
        aria-label={`Copy ${name} address`}
        disabled={url === undefined}
        onClick={() => url && actions.copy(url, url)}
      >
        <Icon name="copy" />
      </button>
    </div>
  )
}

function Uptime({ version }: { readonly version: string | undefined }): JSX.Element {
  const { stats$, now$ } = useConsole()
  const { last } = useCell(stats$)
  const now = useCell(now$)
  const isCurrent = useIsCurrent()
  return (
    <p class="hint">
      rx-statestore {version ?? ''},{' '}
      {last?.startedAt === undefined
        ? 'not active'
        : `up for ${isCurrent ? formatDuration(now - last.startedAt) : UNKNOWN}`}
    </p>
  )
}
