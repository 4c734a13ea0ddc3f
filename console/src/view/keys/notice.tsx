import type { ComponentChildren, JSX } from 'preact'
import { pluralize } from '../../model/amount.js'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'

export function Notice({ list }: { readonly list: KeyList }): JSX.Element {
  const { searchText$, dialog$, facts$, health$, stats$ } = useConsole()
  const { url = 'mqtt://127.0.0.1:1883', wsUrl = '' } = useCell(facts$) ?? {}
  const health = useCell(health$)
  const all = useCell(stats$).last?.keys ?? 0
  if (list.problem !== undefined) return <NoticeBox title={list.problem.title}>{list.problem.advice}</NoticeBox>
  if (list.state === 'listing') {
    if (health.state === 'live') return <NoticeBox title="Loading keys…" />
    return (
      <NoticeBox title="Waiting for the store…">
        {health.state === 'connecting' && health.why}
        {/* The console responds, but the broker does not, often because a firewall or a host name is in the way. */}
        {wsUrl && (
          <p>
            This browser connects to <code>{wsUrl}</code>, which must be reachable from here.
          </p>
        )}
      </NoticeBox>
    )
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
  if (all > 0) {
    return (
      <NoticeBox title="No readable keys">
        The store has {pluralize(all, 'key')}, but its policy does not let this page read any of them.
      </NoticeBox>
    )
  }
  return (
    <NoticeBox title="No keys yet">
      Set one here, or on the command line:
      <pre>
        npx rx-statestore set line-1/speed 12 \{'\n  '}--url {url}
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
