import type { JSX } from 'preact'
import { StateMark } from '../parts/state-mark.js'

interface SubmitButtonProps {
  readonly action: string
  readonly variant: string
  readonly isBusy: boolean
  /** Shown while the write is in progress. */
  readonly busyText: string
}

/** The button that starts a write. It keeps its width while the write is in progress. */
export const SubmitButton = ({ action, variant, isBusy, busyText }: SubmitButtonProps): JSX.Element => (
  <button type="submit" class={`button submit ${variant}`} aria-disabled={isBusy}>
    <span class={isBusy ? 'hidden' : ''}>{action}</span>
    <span class={isBusy ? '' : 'hidden'}>
      <StateMark state="pending" word={busyText} />
    </span>
  </button>
)
