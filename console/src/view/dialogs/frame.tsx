import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { focusList } from '../keys/focus.js'
import { Icon } from '../parts/icon.js'

export interface FrameProps {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
  onClose(): void
  onSubmit(): void
}

/** Shows a modal dialog with a form. Esc closes the dialog, and the focus returns to its previous element. */
export function Frame({ title, children, onClose, onSubmit }: FrameProps): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const dialog = ref.current
    const from = document.activeElement
    dialog?.showModal()
    return () => {
      // Closing the dialog restores the focus; removing the element does not.
      dialog?.close()
      if (from?.isConnected === false) focusList(document)
    }
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    onSubmit()
  }
  // Closes synchronously, because the browser's `close` event fires later and may reach the next dialog.
  const cancel = (event: Event): void => {
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={id} onCancel={cancel}>
      <form class="dialog-form" noValidate onSubmit={submit}>
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        {children}
      </form>
    </dialog>
  )
}
