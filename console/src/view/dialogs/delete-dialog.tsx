import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { sameBytes } from '../../../../src/core/util/bytes.js'
import type { ListedKey } from '../../model/listed-key.js'
import { show } from '../../model/value.js'
import { useConsole } from '../context.js'
import { KeyText } from '../key-text.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { ValueLine } from '../value.js'
import { Changed } from './changed.js'
import { Problem } from './fields.js'
import { Frame } from './frame.js'
import { TokenField } from './option-fields.js'
import { useEntry } from './use-entry.js'
import { useWriting } from './write.js'

/** What is to be deleted: a key, and the value somebody saw. */
export interface DeleteDialogProps {
  readonly listed: ListedKey
  readonly value: Uint8Array
  onClose(): void
}

/** Deletes a key that still holds what was shown at first; to delete what came meanwhile is a choice. */
export function DeleteDialog({ listed, value, onClose }: DeleteDialogProps): JSX.Element {
  const { rows$ } = useConsole()
  const actions = useActions()
  const stored = useCell(rows$).get(listed.id)?.facts?.fencingToken
  const entry = useEntry(listed)
  const [token, setToken] = useState('')
  const writing = useWriting<boolean>()
  const [seen, see] = useState(value)
  // The deletion under way is expected.
  const changed = !writing.busy && entry !== undefined && !(entry.value && sameBytes(entry.value, seen))
  const submit = (): void => {
    if (writing.busy) return
    const deletes$ = actions.deleteIf(listed, seen, token === '' ? undefined : token)
    writing.begin(deletes$, deleted => {
      if (deleted) onClose()
      else writing.fail({ title: 'Nothing was deleted', advice: 'The key holds another value by now, or is gone.' })
    })
  }
  return (
    <Frame title="Delete this key?" onClose={onClose} onSubmit={submit}>
      <div class="dialog-body">
        {changed && <Changed entry={entry} onTake={() => entry.value && see(entry.value)} />}
        <p class="dialog-words">
          <code class="deleted-key">
            <KeyText name={listed.name} />
          </code>
          <span class="deleted-value">
            <ValueLine shown={show(seen)} />
          </span>
        </p>
        {stored !== undefined && <TokenField token={token} stored={stored} onChange={setToken} />}
        <Problem words={writing.problem} />
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button danger solid" aria-busy={writing.busy}>
          Delete
        </button>
      </div>
    </Frame>
  )
}
