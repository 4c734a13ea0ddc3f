import type { ComponentChildren, JSX } from 'preact'
import { Frame } from './frame.js'

/** A question before what cannot be taken back. */
export interface ConfirmProps {
  readonly title: string
  /** What the button says. */
  readonly deed: string
  readonly children: ComponentChildren
  onDeed(): void
  onClose(): void
}

/** Asks; the way out has the focus. */
export function Confirm({ title, deed, children, onDeed, onClose }: ConfirmProps): JSX.Element {
  const submit = (): void => {
    onDeed()
    onClose()
  }
  return (
    <Frame title={title} onClose={onClose} onSubmit={submit}>
      <p class="dialog-words">{children}</p>
      <div class="dialog-buttons">
        <button type="button" class="button" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button danger solid">
          {deed}
        </button>
      </div>
    </Frame>
  )
}
