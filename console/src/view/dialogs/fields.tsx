import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { type Draft, earlyProblem, needsHex, retyped } from '../../model/draft.js'
import { TYPES } from '../../model/typed-value.js'
import type { ErrorText } from '../../model/words.js'
import { Icon } from '../icon.js'

/** What describes an input: its name, what helps, and what is wrong with what it holds. */
export interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly problem?: string | undefined
  /** Draws the input, with the attributes that tie it to its words. */
  input(ties: InputAttributes): JSX.Element
}

/** Attributes of an input. */
export interface InputAttributes {
  readonly id: string
  readonly 'aria-describedby': string
  readonly 'aria-invalid': boolean
}

/** An input with its words. */
export function Field({ label, hint, problem, input }: FieldProps): JSX.Element {
  const id = useId()
  const words = `${id}-words`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {input({ id, 'aria-describedby': words, 'aria-invalid': problem !== undefined })}
      <p id={words} class={problem === undefined ? 'field-hint' : 'field-hint field-problem'}>
        {problem ?? hint}
      </p>
    </div>
  )
}

const TYPE_NAMES = { text: 'Text', number: 'Number', json: 'JSON', hex: 'Hex' } as const

/** A value and its type. */
export interface ValueFieldProps {
  readonly draft: Draft
  readonly problem: string | undefined
  /** Whether the dialog begins here. */
  readonly first: boolean
  onChange(draft: Draft): void
}

/** A value, in the words of one of four types. */
export function ValueField({ draft, problem, first, onChange }: ValueFieldProps): JSX.Element {
  const name = useId()
  return (
    <>
      <fieldset class="types">
        <legend>Type</legend>
        {TYPES.map(type => (
          <label key={type}>
            <input
              type="radio"
              name={name}
              checked={draft.type === type}
              onChange={() => onChange(retyped(draft, type))}
            />
            <span>{TYPE_NAMES[type]}</span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Value"
        hint={needsHex(draft) && 'It has carriage returns (0D), which only hex keeps.'}
        problem={problem ?? earlyProblem(draft)}
        input={ties => (
          <textarea
            {...ties}
            autofocus={first}
            rows={draft.type === 'number' ? 1 : linesFor(draft.text)}
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

/** As many lines as the text has, within reason. */
const linesFor = (text: string): number => Math.max(5, Math.min(12, text.split('\n', 12).length))

/** Why nothing was written. */
export const Problem = ({ words }: { readonly words: ErrorText | undefined }): JSX.Element => (
  <div class="problem-place" role="alert">
    {words && (
      <p class="problem">
        <Icon name="warn" />
        <span>
          <strong>{words.title}</strong>
          {words.advice}
        </span>
      </p>
    )}
  </div>
)
