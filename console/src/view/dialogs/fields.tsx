import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { convertDraft, type Draft, liveProblem, needsHex } from '../../model/draft.js'
import type { ErrorText } from '../../model/error-text.js'
import { VALUE_TYPES } from '../../model/typed-value.js'
import { Icon } from '../parts/icon.js'

export interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly problem?: string | undefined
  /** Renders the input. The attributes link the input to its label and hint. */
  render(attributes: InputAttributes): JSX.Element
}

export interface InputAttributes {
  readonly id: string
  readonly 'aria-describedby': string
  readonly 'aria-invalid': boolean
}

export function Field({ label, hint, problem, render }: FieldProps): JSX.Element {
  const id = useId()
  const hintId = `${id}-words`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {render({ id, 'aria-describedby': hintId, 'aria-invalid': problem !== undefined })}
      <p id={hintId} class={problem === undefined ? 'field-hint' : 'field-hint field-problem'}>
        {problem ?? hint}
      </p>
    </div>
  )
}

const TYPE_NAMES = { text: 'Text', number: 'Number', json: 'JSON', hex: 'Hex' } as const

export interface ValueFieldProps {
  readonly draft: Draft
  readonly problem: string | undefined
  readonly first: boolean
  onChange(draft: Draft): void
}

export function ValueField({ draft, problem, first, onChange }: ValueFieldProps): JSX.Element {
  const name = useId()
  return (
    <>
      <fieldset class="types">
        <legend>Type</legend>
        {VALUE_TYPES.map(type => (
          <label key={type}>
            <input
              type="radio"
              name={name}
              checked={draft.type === type}
              onChange={() => onChange(convertDraft(draft, type))}
            />
            <span>{TYPE_NAMES[type]}</span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Value"
        hint={needsHex(draft) && 'Contains carriage returns (0D), which only hex preserves.'}
        problem={problem ?? liveProblem(draft)}
        render={attributes => (
          <textarea
            ref={showStart}
            {...attributes}
            autofocus={first}
            rows={draft.type === 'number' ? 1 : rowCount(draft.text)}
            spellcheck={false}
            autocomplete="off"
            value={draft.text}
            onInput={({ currentTarget }) => onChange({ ...draft, text: currentTarget.value })}
          />
        )}
      />
    </>
  )
}

/** Length of a text that fits in a field, characters. */
const SHORT_TEXT = 60

/** Moves the caret of a long value to its start, because the focus scrolls to the caret. */
function showStart(field: HTMLTextAreaElement | null): void {
  if (field !== null && field.value.length > SHORT_TEXT) field.setSelectionRange(0, 0)
}

/** Returns the number of lines of a text, limited to 5 to 12. */
const rowCount = (text: string): number => Math.max(5, Math.min(12, text.split('\n', 12).length))

export const Problem = ({ error }: { readonly error: ErrorText | undefined }): JSX.Element => (
  <div class="problem-place" role="alert">
    {error && (
      <p class="problem">
        <Icon name="warn" />
        <span>
          <strong>{error.title}</strong>
          {error.advice}
        </span>
      </p>
    )}
  </div>
)
