import type { JSX } from 'preact'
import { useActions } from './use-actions.js'

/** Ends a freeze. */
export function ThawButton(): JSX.Element {
  const actions = useActions()
  return (
    <button type="button" class="button small" onClick={() => actions.freeze(0)}>
      Thaw now
    </button>
  )
}
