import type { JSX } from 'preact'
import { useActions } from './parts/use-actions.js'

export function ResumeButton(): JSX.Element {
  const actions = useActions()
  return (
    <button type="button" class="button small" onClick={() => actions.freeze(0)}>
      Resume
    </button>
  )
}
