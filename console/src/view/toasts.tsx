import type { JSX } from 'preact'
import { useConsole } from './parts/context.js'
import { Icon } from './parts/icon.js'
import { useCell } from './parts/use-cell.js'

export function ToastList(): JSX.Element {
  const { toasts } = useConsole()
  const shown = useCell(toasts.shown$)
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label="Messages">
      {shown.map(({ n, tone, title, text }) => (
        <div key={n} class={`toast toast-${tone}`}>
          <p>
            <strong>{title}</strong>
            {text !== '' && <span>{text}</span>}
          </p>
          <button type="button" class="icon-button" aria-label={`Dismiss: ${title}`} onClick={() => toasts.dismiss(n)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
