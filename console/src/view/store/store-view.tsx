import type { ComponentChildren, JSX } from 'preact'
import { count } from '../../model/amount.js'
import { left, span } from '../../model/time.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { Activity } from './activity.js'
import { LoadButton } from './load-button.js'
import { Nodes } from './nodes.js'

const FREEZES = [5_000, 30_000, 120_000]

/** The store as a whole: how busy it is, where it is, and what can be done to it. */
export function StoreView(): JSX.Element {
  const { facts$, pulses$, dialog$ } = useConsole()
  const actions = useActions()
  const facts = useCell(facts$)
  const { last } = useCell(pulses$)
  return (
    <main class="page">
      <Activity />
      {last?.cluster && <Nodes {...last.cluster} />}
      <div class="cards">
        <Card title="Try out failures" hint="See how an app takes it. To cut a single client, look under Clients.">
          <Deed title="Freeze" hint="Connections stay open, and nothing moves.">
            <Freeze />
          </Deed>
          <Deed title="Restart" hint="Ends all connections and starts anew on the same ports.">
            <button type="button" class="button" onClick={() => actions.restart('kept')}>
              <Icon name="restart" />
              Keep the keys
            </button>
            {last?.cluster === undefined && (
              <button type="button" class="button danger" onClick={() => dialog$.next({ type: 'lose' })}>
                <Icon name="restart" />
                Lose the keys…
              </button>
            )}
          </Deed>
        </Card>
        <Card title="Keys" hint={`The store holds ${count(last?.keys ?? 0)}.`}>
          <Deed
            title="Reset to the seed"
            hint={
              facts?.seeded
                ? 'Deletes what is not in the seed, and sets what is.'
                : 'It was started without a seed: --seed keys.json.'
            }
          >
            <button
              type="button"
              class="button danger"
              disabled={!facts?.seeded}
              onClick={() => dialog$.next({ type: 'reset' })}
            >
              <Icon name="seed" />
              Reset…
            </button>
          </Deed>
          <Deed title="Dump and load" hint="A line of JSON per key, with version, expiry and fencing token.">
            <button type="button" class="button" onClick={() => actions.dump()}>
              <Icon name="down" />
              Dump
            </button>
            <LoadButton />
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

interface PartProps {
  readonly title: string
  readonly hint: string
  readonly children?: ComponentChildren
}

const Card = ({ title, hint, children }: PartProps): JSX.Element => (
  <section class="card" aria-label={title}>
    <h2>{title}</h2>
    <p class="hint">{hint}</p>
    {children}
  </section>
)

const Deed = ({ title, hint, children }: PartProps): JSX.Element => (
  <div class="deed">
    <h3>{title}</h3>
    <p class="hint">{hint}</p>
    <div class="deed-buttons">{children}</div>
  </div>
)

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
      rx-statestore {version ?? ''}, up for {last ? span(now - last.startedAt) : '–'}
    </p>
  )
}
