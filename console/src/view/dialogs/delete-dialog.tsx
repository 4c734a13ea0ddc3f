import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { sameBytes } from '../../../../src/core/util/bytes.js'
import type { ListedKey } from '../../model/listed-key.js'
import { previewValue } from '../../model/value.js'
import { useConsole } from '../context.js'
import { KeyText } from '../key-text.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { ValueLine } from '../value.js'
import { ConflictNotice } from './conflict-notice.js'
import { Problem } from './fields.js'
import { Frame } from './frame.js'
import { TokenField } from './option-fields.js'
import { useEntry } from './use-entry.js'
import { useWrite } from './write.js'

/** The key to delete, and its displayed value. */
export interface DeleteDialogProps {
  readonly listed: ListedKey
  readonly value: Uint8Array
  onClose(): void
}

/** Deletes a key if it still has the displayed value; a changed value must be accepted first. */
export function DeleteDialog({ listed, value, onClose }: DeleteDialogProps): JSX.Element {
  const { rows$ } = useConsole()
  const actions = useActions()
  const stored = useCell(rows$).get(listed.id)?.facts?.fencingToken
  const entry = useEntry(listed)
  const [token, setToken] = useState('')
  const writing = useWrite<boolean>()
  const [seen, setSeen] = useState(value)
  // Ignore the deletion in progress.
  const changed = !writing.isBusy && entry !== undefined && !(entry.value && sameBytes(entry.value, seen))
  const submit = (): void => {
    if (writing.isBusy) return
    const deletes$ = actions.deleteIf(listed, seen, token === '' ? undefined : token)
    writing.start(deletes$, deleted => {
      if (deleted) onClose()
      else writing.fail({ title: 'Not deleted', advice: 'The value has changed, or the key no longer exists.' })
    })
  }
  return (
    <Frame title="Delete this key?" onClose={onClose} onSubmit={submit}>
      <div class="dialog-body">
        {changed && <ConflictNotice entry={entry} onTake={() => entry.value && setSeen(entry.value)} />}
        <p class="dialog-words">
          <code class="deleted-key">
            <KeyText name={listed.name} />
          </code>
          <span class="deleted-value">
            <ValueLine preview={previewValue(seen)} />
          </span>
        </p>
        {stored !== undefined && <TokenField token={token} stored={stored} onChange={setToken} />}
        <Problem error={writing.problem} />
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button danger solid" aria-busy={writing.isBusy}>
          Delete
        </button>
      </div>
    </Frame>
  )
}
