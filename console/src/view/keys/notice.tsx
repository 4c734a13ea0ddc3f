import type { ComponentChildren, JSX } from 'preact'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'

export function Notice({ list }: { readonly list: KeyList }): JSX.Element {
  const { searchText$, dialog$, facts$, health$ } = useConsole()
  const url = useCell(facts$)?.url ?? 'mqtt://127.0.0.1:1883'
  const health = useCell(health$)
  if (list.state === 'failed') return <NoticeBox title="Listing failed">{list.problem}</NoticeBox>
  if (list.state === 'listing') {
    const title = health.state === 'live' ? 'Loading keys…' : 'Waiting for the store…'
    return <NoticeBox title={title}>{health.state === 'connecting' ? health.why : undefined}</NoticeBox>
  }
  if (list.glob !== '*') {
    return (
      <NoticeBox title="No matches">
        <p>
          No key matches <code>{list.glob}</code>. A word matches anywhere in a key; <code>*</code> matches anything,{' '}
          <code>?</code> one character, <code>[a-z]</code> one of these.
        </p>
        {/^\*?0x[\da-f]/i.test(list.glob) && (
          <p>
            A key shown as <code>0x…</code> is binary and cannot be found by its hex digits.
          </p>
        )}
        <button type="button" class="button" onClick={() => searchText$.next('')}>
          Show all keys
        </button>
      </NoticeBox>
    )
  }
  return (
    <NoticeBox title="No keys yet">
      Set one here, or on the command line:
      <pre>
        npx rx-statestore set 'thermostat1/setPoint' 21.5 \{'\n  '}--url {url}
      </pre>
      <button type="button" class="button primary" onClick={() => dialog$.next({ type: 'set' })}>
        Set a key
      </button>
    </NoticeBox>
  )
}

const NoticeBox = ({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element => (
  <div class="notice">
    <svg class="notice-mark" viewBox="0 0 120 16" aria-hidden="true">
      <path d="M2 8H116M110 3l6 5-6 5" />
    </svg>
    <h2>{title}</h2>
    <div class="notice-words">{children}</div>
  </div>
)
