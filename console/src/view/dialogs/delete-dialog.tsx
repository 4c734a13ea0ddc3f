import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { sameBytes } from '../../../../src/bytes.js'
import type { ListedKey } from '../../model/listed-key.js'
import { show } from '../../model/value.js'
import { useConsole } from '../context.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { ValueLine } from '../value.js'
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

/** Deletes a key that still holds what is shown; what came meanwhile is shown first. */
export function DeleteDialog({ listed, value, onClose }: DeleteDialogProps): JSX.Element {
  const { rows$ } = useConsole()
  const actions = useActions()
  const stored = useCell(rows$).get(listed.id)?.facts?.fencingToken
  const entry = useEntry(listed)
  const [token, setToken] = useState('')
  const writing = useWriting<boolean>()
  const present = entry?.value ?? value
  const changed = !sameBytes(present, value)
  const submit = (): void => {
    if (writing.busy) return
    const deletes$ = actions.deleteIf(listed, present, token === '' ? undefined : token)
    writing.begin(deletes$, deleted => {
      if (deleted) onClose()
      else writing.fail({ title: 'Nothing was deleted', advice: 'The key holds another value by now, or is gone.' })
    })
  }
  return (
    <Frame title="Delete this key?" onClose={onClose} onSubmit={submit}>
      <div class="dialog-body">
        <p class="dialog-words">
          <code class="deleted-key">{listed.name}</code>
          <span class="deleted-value">
            <ValueLine shown={show(present)} />
          </span>
        </p>
        {changed && <p class="hint">It was changed while you looked: this is the new value.</p>}
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
