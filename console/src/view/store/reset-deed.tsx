import type { JSX } from 'preact'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { Deed } from './card.js'

/** Makes the store what its seed is. @param seeded - whether there is one */
export function ResetDeed({ seeded }: { readonly seeded: boolean }): JSX.Element {
  const { dialog$ } = useConsole()
  const hint = seeded
    ? 'Deletes what is not in the seed, and sets what is.'
    : 'It was started without a seed: --seed keys.json.'
  return (
    <Deed title="Reset to the seed" hint={hint}>
      <button type="button" class="button danger" disabled={!seeded} onClick={() => dialog$.next({ type: 'reset' })}>
        <Icon name="seed" />
        Reset…
      </button>
    </Deed>
  )
}
