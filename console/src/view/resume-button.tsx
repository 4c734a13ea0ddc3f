import type { JSX } from 'preact'
import { useConsole } from './parts/context.js'
import { useActions } from './parts/use-actions.js'
import { useCell } from './parts/use-cell.js'

export function ResumeButton(): JSX.Element | null {
  const actions = useActions()
  if (!useCell(useConsole().facts$)?.faults) return null
  return (
    <button type="button" class="button small" onClick={() => actions.freeze(0)}>
      Resume
    </button>
  )
}
