import type { ComponentChildren, JSX } from 'preact'
import { Frame } from './frame.js'

export interface ConfirmProps {
  readonly title: string
  readonly action: string
  readonly children: ComponentChildren
  onConfirm(): void
  onClose(): void
}

/** Asks for confirmation of an irreversible action. Cancel has the focus. */
export function Confirm({ title, action, children, onConfirm, onClose }: ConfirmProps): JSX.Element {
  const submit = (): void => {
    onConfirm()
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
          {action}
        </button>
      </div>
    </Frame>
  )
}
