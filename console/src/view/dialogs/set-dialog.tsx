import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Entry, SetOptions, SetResult } from 'rx-statestore'
import { size } from '../../model/amount.js'
import { type Draft, inSeconds, LARGEST_EDITED, readDraft, startDraft } from '../../model/draft.js'
import { keyLine } from '../../model/key-signs.js'
import { type ListedKey, nameFor } from '../../model/listed-key.js'
import { useConsole } from '../context.js'
import { KeyText } from '../key-text.js'
import { useActions } from '../use-actions.js'
import { useCell } from '../use-cell.js'
import { Changed } from './changed.js'
import { Problem, ValueField } from './fields.js'
import { Frame } from './frame.js'
import { KeyField, OptionFields } from './option-fields.js'
import { useEntry } from './use-entry.js'
import { useWriting } from './write.js'

/** What is to be set: a new key without `listed`. */
export interface SetDialogProps {
  readonly listed: ListedKey | undefined
  onClose(): void
}

/** Sets a key; waits until something is known of a key to edit, so that the form begins with what is there. */
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

/** A change in between is shown, and overwriting it is a choice: what is written replaces what was to be seen, or nothing. */
function SetForm({ title, listed, entry, onClose }: SetFormProps): JSX.Element {
  const { toasts, rows$, now, pulses$ } = useConsole()
  const unknowing = useCell(pulses$).last?.startedAt === undefined && listed !== undefined
  const actions = useActions()
  const expiresAt = useCell(rows$).get(listed?.id ?? '')?.facts?.expiresAt
  const timeLeft = expiresAt === undefined ? undefined : expiresAt - now()
  const [base, setBase] = useState(entry)
  const [draft, setDraft] = useState<Draft>(() => ({ ...startDraft(entry?.value, timeLeft), name: listed?.name ?? '' }))
  // What only the server knows may come after the value.
  const [expiryKnown, setExpiryKnown] = useState(expiresAt !== undefined)
  useEffect(() => {
    if (expiryKnown || timeLeft === undefined) return
    setExpiryKnown(true)
    setDraft(typed => (typed.expires === '' ? { ...typed, expires: inSeconds(timeLeft) } : typed))
  }, [expiryKnown, timeLeft])
  const [tried, setTried] = useState(false)
  const writing = useWriting<SetResult>()
  const reading = readDraft(draft)
  const problems = tried ? (reading.problems ?? {}) : {}
  const changed = String(entry?.version) !== String(base?.version)
  const tooLarge = (base?.value?.length ?? 0) > LARGEST_EDITED

  const take = (): void => {
    setBase(entry)
    setDraft({ ...draft, ...startDraft(entry?.value, timeLeft), name: draft.name, token: draft.token })
  }
  const submit = (): void => {
    setTried(true)
    const { write } = reading
    if (write === undefined || writing.busy) return
    const name = listed ? nameFor(listed) : write.name
    writing.begin(
      actions.set(name, write.value, guarded(listed && entry, write.options)),
      ({ key, applied, version }) => {
        if (!applied) {
          const found = version ? `holds a value already, version ${version}` : 'was deleted meanwhile'
          writing.fail({ title: 'Nothing was written', advice: `The key ${found}.` })
          return
        }
        toasts.good(`Set ${keyLine(key)}`, `Version ${version}`)
        onClose()
      },
    )
  }
  return (
    <Frame title={title} onClose={onClose} onSubmit={submit}>
      <div class="dialog-body">
        {changed && <Changed entry={entry} onTake={take} />}
        {listed === undefined && <KeyField draft={draft} problem={problems.name} onChange={setDraft} />}
        {tooLarge && (
          <p class="hint">
            The value of {size(base?.value?.length ?? 0)} is too large to edit; what is set here replaces it.
          </p>
        )}
        {unknowing && (
          <p class="problem" role="alert">
            Another store serves, and knows when this key ends: set here it stays for good, unless you say how long.
          </p>
        )}
        <ValueField draft={draft} problem={problems.text} first={listed !== undefined} onChange={setDraft} />
        <OptionFields listed={listed} draft={draft} problems={problems} onChange={setDraft} />
        <Problem words={writing.problem} />
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class={`button primary ${changed ? 'overwrites' : ''}`} aria-busy={writing.busy}>
          {changed ? 'Overwrite' : 'Set'}
        </button>
      </div>
    </Frame>
  )
}

/** Only over the value that is shown, unless another condition was chosen. */
function guarded(entry: Entry<Uint8Array> | undefined, options: SetOptions): SetOptions {
  const isFree = options.ifAbsent || options.ifAbsentOrEqual || entry?.op !== 'set'
  return isFree || entry.version === undefined ? options : { ...options, ifVersion: entry.version }
}
