import type { ComponentChildren, JSX } from 'preact'
import type { KeyList } from '../../state/key-list.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'

/** Stands where the keys would be, and says why there are none. */
export function Notice({ list }: { readonly list: KeyList }): JSX.Element {
  const { typed$, dialog$, facts$, health$ } = useConsole()
  const url = useCell(facts$)?.url ?? 'mqtt://127.0.0.1:1883'
  const health = useCell(health$)
  if (list.state === 'failed') return <ErrorText title="The keys cannot be listed">{list.problem}</ErrorText>
  if (list.state === 'listing') {
    const title = health.state === 'live' ? 'Looking for keys…' : 'Waiting for the store…'
    return <ErrorText title={title}>{health.state === 'connecting' ? health.why : undefined}</ErrorText>
  }
  if (list.glob !== '*') {
    return (
      <ErrorText title="Nothing matches">
        <p>
          No key fits <code>{list.glob}</code>. A word is looked for anywhere in a key; <code>*</code> stands for
          anything, <code>?</code> for one sign, <code>[a-z]</code> for one of these.
        </p>
        {/^\*?0x[\da-f]/i.test(list.glob) && (
          <p>
            A key shown as <code>0x…</code> is not text, and no glob finds it by these digits.
          </p>
        )}
        <button type="button" class="button" onClick={() => typed$.next('')}>
          Show all keys
        </button>
      </ErrorText>
    )
  }
  return (
    <ErrorText title="No keys yet">
      Set one here, or from anywhere else:
      <pre>
        npx rx-statestore set 'thermostat1/setPoint' 21.5 \{'\n  '}--url {url}
      </pre>
      <button type="button" class="button primary" onClick={() => dialog$.next({ type: 'set' })}>
        Set a key
      </button>
    </ErrorText>
  )
}

const ErrorText = ({
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
