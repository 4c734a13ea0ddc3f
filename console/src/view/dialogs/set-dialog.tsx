import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Entry, SetOptions, SetResult } from 'rx-statestore'
import { formatBytes } from '../../model/amount.js'
import { type Draft, MAX_EDITABLE_BYTES, parseDraft, startDraft, toWholeSeconds } from '../../model/draft.js'
import { visibleKey } from '../../model/key-pieces.js'
import { type ListedKey, libraryKey } from '../../model/listed-key.js'
import { useConsole } from '../parts/context.js'
import { KeyText } from '../parts/key-text.js'
import { useActions } from '../parts/use-actions.js'
import { useCell } from '../parts/use-cell.js'
import { ConflictNotice } from './conflict-notice.js'
import { ValueField } from './fields.js'
import { Frame } from './frame.js'
import { KeyField, OptionFields } from './option-fields.js'
import { SubmitButton } from './submit-button.js'
import { useEntry } from './use-entry.js'
import { useWrite } from './write.js'
import { WriteStatus } from './write-status.js'

/** The key to edit. Without `listed`, the dialog creates a new key. */
export interface SetDialogProps {
  readonly listed: ListedKey | undefined
  onClose(): void
}

/** Sets a key. To edit an existing key, waits for its first entry, so that the form starts with the current value. */
export function SetDialog({ listed, onClose }: SetDialogProps): JSX.Element | null {
  const known = useCell(useConsole().rows$).get(listed?.id ?? '')?.entry
  const entry = useEntry(listed) ?? known
  if (listed !== undefined && entry === undefined) return null
  const title = listed === undefined ? 'Set a key' : <EditTitle name={listed.name} />
  return <SetForm title={title} listed={listed} entry={entry} onClose={onClose} />
}

const EditTitle = ({ name }: { readonly name: string }): JSX.Element => (
  <>
    Edit{' '}
    <code>
      <KeyText name={name} />
    </code>
  </>
)

interface SetFormProps extends SetDialogProps {
  readonly title: JSX.Element | string
  readonly entry: Entry<Uint8Array> | undefined
}

/**
 * Warns about concurrent changes. Replaces only the displayed value, unless the user chooses to overwrite any value.
 */
function SetForm({ title, listed, entry, onClose }: SetFormProps): JSX.Element {
  const { toasts, rows$, now, stats$ } = useConsole()
  const isExpiryUnknown = useCell(stats$).last?.startedAt === undefined && listed !== undefined
  const actions = useActions()
  const expiresAt = useCell(rows$).get(listed?.id ?? '')?.facts?.expiresAt
  const timeLeft = expiresAt === undefined ? undefined : expiresAt - now()
  const [base, setBase] = useState(entry)
  const [draft, setDraft] = useState<Draft>(() => ({ ...startDraft(entry?.value, timeLeft), name: listed?.name ?? '' }))
  // The expiry comes from the server and may arrive after the value.
  const [expiryKnown, setExpiryKnown] = useState(expiresAt !== undefined)
  useEffect(() => {
    if (expiryKnown || timeLeft === undefined) return
    setExpiryKnown(true)
    setDraft(typed => (typed.expires === '' ? { ...typed, expires: toWholeSeconds(timeLeft) } : typed))
  }, [expiryKnown, timeLeft])
  const [isSubmitted, setSubmitted] = useState(false)
  const writing = useWrite<SetResult>()
  const reading = parseDraft(draft)
  const problems = isSubmitted ? (reading.problems ?? {}) : {}
  const hasConflict = String(entry?.version) !== String(base?.version)
  const isTooLarge = (base?.value?.length ?? 0) > MAX_EDITABLE_BYTES

  const useStoredValue = (): void => {
    setBase(entry)
    setDraft({ ...draft, ...startDraft(entry?.value, timeLeft), name: draft.name, token: draft.token })
  }
  const submit = (): void => {
    setSubmitted(true)
    const { write } = reading
    if (write === undefined || writing.startedAt !== undefined) return
    const name = listed ? libraryKey(listed) : write.name
    writing.start(
      actions.set(name, write.value, withVersionGuard(listed && entry, write.options)),
      ({ key, applied, version }) => {
        if (!applied) {
          const outcome = version ? `already has a value, version ${version}` : 'was deleted'
          writing.fail({ title: 'Not written', advice: `The key ${outcome}.` })
          return
        }
        toasts.success(`Set ${visibleKey(key)}`, `Version ${version}`)
        onClose()
      },
    )
  }
  return (
    <Frame title={title} onClose={onClose} onSubmit={submit}>
      <div class="dialog-body">
        {hasConflict && <ConflictNotice entry={entry} onTake={useStoredValue} />}
        {listed === undefined && <KeyField draft={draft} problem={problems.name} onChange={setDraft} />}
        {isTooLarge && (
          <p class="hint">
            The value of {formatBytes(base?.value?.length ?? 0)} is too large to edit. A value that you enter replaces
            it.
          </p>
        )}
        {isExpiryUnknown && (
          <p class="problem" role="alert">
            Another store is active, so the expiry is unknown here. Enter one, or the key is kept forever.
          </p>
        )}
        <ValueField draft={draft} problem={problems.text} first={listed !== undefined} onChange={setDraft} />
        <OptionFields listed={listed} draft={draft} problems={problems} onChange={setDraft} />
      </div>
      <WriteStatus write={writing} />
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <SubmitButton
          action={hasConflict ? 'Overwrite' : 'Set'}
          variant={`primary ${hasConflict ? 'overwrites' : ''}`}
          isBusy={writing.startedAt !== undefined}
          busyText="Saving…"
        />
      </div>
    </Frame>
  )
}

/** Adds a version condition, so that only the displayed value is replaced, unless the user chose another condition. */
function withVersionGuard(entry: Entry<Uint8Array> | undefined, options: SetOptions): SetOptions {
  const isUnguarded = options.ifAbsent || options.ifAbsentOrEqual || entry?.op !== 'set'
  return isUnguarded || entry.version === undefined ? options : { ...options, ifVersion: entry.version }
}
