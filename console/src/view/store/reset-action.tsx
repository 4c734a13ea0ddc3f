import type { JSX } from 'preact'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'
import { Action } from './card.js'

/** Resets the store to its seed. @param seeded - whether the store has a seed */
export function ResetAction({ seeded }: { readonly seeded: boolean }): JSX.Element {
  const { dialog$ } = useConsole()
  const hint = seeded
    ? 'Deletes keys that are not in the seed and sets the others.'
    : 'Requires a seed at startup: --seed keys.json.'
  return (
    <Action title="Reset to seed" hint={hint}>
      <button type="button" class="button danger" disabled={!seeded} onClick={() => dialog$.next({ type: 'reset' })}>
        <Icon name="seed" />
        Reset…
      </button>
    </Action>
  )
}
