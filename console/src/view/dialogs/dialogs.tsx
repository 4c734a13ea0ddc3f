import type { JSX } from 'preact'
import { pluralize } from '../../model/amount.js'
import { useConsole } from '../parts/context.js'
import { useActions } from '../parts/use-actions.js'
import { useCell } from '../parts/use-cell.js'
import { Confirm } from './confirm.js'
import { DeleteDialog } from './delete-dialog.js'
import { KeyboardDialog } from './keyboard-dialog.js'
import { SetDialog } from './set-dialog.js'

export function Dialogs(): JSX.Element | null {
  const { dialog$, stats$ } = useConsole()
  const actions = useActions()
  const dialog = useCell(dialog$)
  const keys = useCell(stats$).last?.keys ?? 0
  const close = (): void => dialog$.next(undefined)
  switch (dialog?.type) {
    case 'set':
      return <SetDialog listed={dialog.key} onClose={close} />
    case 'delete':
      return <DeleteDialog listed={dialog.key} value={dialog.value} onClose={close} />
    case 'lose':
      return (
        <Confirm
          title="Restart without keys?"
          action="Restart without keys"
          onClose={close}
          onConfirm={() => actions.restart('lost')}
        >
          Closes all connections and deletes {pluralize(keys, 'key')}, like a store without data on disk.
        </Confirm>
      )
    case 'reset':
      return (
        <Confirm title="Reset to seed?" action="Reset" onClose={close} onConfirm={() => actions.reset()}>
          Deletes keys that are not in the seed and sets the others to their seed values. Watchers are notified.
        </Confirm>
      )
    case 'load':
      return (
        <Confirm title="Load this dump?" action="Load" onClose={close} onConfirm={() => actions.load(dialog.file)}>
          Keys in <code>{dialog.file.name}</code> overwrite existing ones; other keys are kept.
        </Confirm>
      )
    case 'keyboard':
      return <KeyboardDialog onClose={close} />
    default:
      return null
  }
}
