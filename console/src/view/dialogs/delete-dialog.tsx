import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { sameBytes } from '../../../../src/core/util/bytes.js'
import type { ListedKey } from '../../model/listed-key.js'
import { previewValue } from '../../model/value.js'
import { useConsole } from '../parts/context.js'
import { KeyText } from '../parts/key-text.js'
import { useActions } from '../parts/use-actions.js'
import { useCell } from '../parts/use-cell.js'
import { ValueLine } from '../parts/value.js'
import { ConflictNotice } from './conflict-notice.js'
import { Frame } from './frame.js'
import { TokenField } from './option-fields.js'
import { SubmitButton } from './submit-button.js'
import { useEntry } from './use-entry.js'
import { useWrite } from './write.js'
import { WriteStatus } from './write-status.js'

/** The key to delete, and its displayed value. */
export interface DeleteDialogProps {
  readonly listed: ListedKey
  readonly value: Uint8Array
  onClose(): void
}

/** Deletes a key if it still has the displayed value. The user must accept a changed value first. */
export function DeleteDialog({ listed, value, onClose }: DeleteDialogProps): JSX.Element {
  const { rows$ } = useConsole()
  const actions = useActions()
  const stored = useCell(rows$).get(listed.id)?.facts?.fencingToken
  const entry = useEntry(listed)
  const [token, setToken] = useState('')
  const write = useWrite<boolean>()
  const [confirmed, setConfirmed] = useState(value)
  // The deletion in progress is not a conflict.
  const isBusy = write.startedAt !== undefined
  const hasConflict = !isBusy && entry !== undefined && !(entry.value && sameBytes(entry.value, confirmed))
  const submit = (): void => {
    if (isBusy) return
    const deleted$ = actions.deleteIf(listed, confirmed, token === '' ? undefined : token)
    write.start(deleted$, deleted => {
      if (deleted) onClose()
      else write.fail({ title: 'Not deleted', advice: 'The value has changed, or the key no longer exists.' })
    })
  }
  return (
    <Frame title="Delete this key?" onClose={onClose} onSubmit={submit}>
      <div class="dialog-body">
        {hasConflict && <ConflictNotice entry={entry} onTake={() => entry.value && setConfirmed(entry.value)} />}
        <p class="dialog-words">
          <code class="deleted-key">
            <KeyText name={listed.name} />
          </code>
          <span class="deleted-value">
            <ValueLine preview={previewValue(confirmed)} />
          </span>
        </p>
        {stored !== undefined && <TokenField token={token} stored={stored} onChange={setToken} />}
      </div>
      <WriteStatus write={write} />
      <div class="dialog-buttons">
        <button type="button" class="button" autofocus onClick={onClose}>
          Cancel
        </button>
        <SubmitButton action="Delete" variant="danger solid" isBusy={isBusy} busyText="Deleting…" />
      </div>
    </Frame>
  )
}
