import type { JSX } from 'preact'
import { count } from '../../model/amount.js'
import { useConsole } from '../context.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { Confirm } from './confirm.js'
import { DeleteDialog } from './delete-dialog.js'
import { KeyboardDialog } from './keyboard-dialog.js'
import { SetDialog } from './set-dialog.js'

/** The question that is open, if there is one. */
export function Dialogs(): JSX.Element | null {
  const { dialog$, pulses$ } = useConsole()
  const actions = useActions()
  const dialog = useCell(dialog$)
  const keys = useCell(pulses$).last?.keys ?? 0
  const close = (): void => dialog$.next(undefined)
  switch (dialog?.type) {
    case 'set':
      return <SetDialog listed={dialog.key} onClose={close} />
    case 'delete':
      return <DeleteDialog listed={dialog.key} value={dialog.value} onClose={close} />
    case 'lose':
      return (
        <Confirm
          title="Restart without the keys?"
          deed="Restart and lose the keys"
          onClose={close}
          onDeed={() => actions.restart('lost')}
        >
          All connections end and {count(keys)} keys are gone, as with a store whose data was in memory alone.
        </Confirm>
      )
    case 'reset':
      return (
        <Confirm title="Reset to the seed?" deed="Reset" onClose={close} onDeed={() => actions.reset()}>
          Every key that is not in the seed is deleted, and those of the seed get their first values again. Watchers are
          notified of each.
        </Confirm>
      )
    case 'load':
      return (
        <Confirm title="Load this dump?" deed="Load" onClose={close} onDeed={() => actions.load(dialog.file)}>
          The keys of <code>{dialog.file.name}</code> overwrite those of the same name; other keys stay.
        </Confirm>
      )
    case 'keyboard':
      return <KeyboardDialog onClose={close} />
    default:
      return null
  }
}
