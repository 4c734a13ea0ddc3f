import type { JSX } from 'preact'
import type { Condition, Draft } from '../../model/draft.js'
import type { ListedKey } from '../../model/listed-key.js'
import { left } from '../../model/time.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'
import { Field } from './fields.js'

interface DraftFieldProps {
  readonly draft: Draft
  onChange(draft: Draft): void
}

/** The key to set. */
export const KeyField = ({
  draft,
  problem,
  onChange,
}: DraftFieldProps & { readonly problem: string | undefined }): JSX.Element => (
  <Field
    label="Key"
    problem={problem}
    input={ties => (
      <input
        {...ties}
        class="mono"
        autofocus
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder="thermostat1/setPoint"
        value={draft.name}
        onInput={({ currentTarget }) => onChange({ ...draft, name: currentTarget.value })}
      />
    )}
  />
)

const CONDITIONS: readonly { readonly condition: Condition; readonly words: string }[] = [
  { condition: 'always', words: 'Whatever is there' },
  { condition: 'ifAbsent', words: 'Only if there is no such key' },
  { condition: 'ifAbsentOrEqual', words: 'Only if there is none, or it holds this value' },
]

interface OptionFieldsProps extends DraftFieldProps {
  readonly listed: ListedKey | undefined
  readonly problems: { readonly expires?: string; readonly token?: string }
}

/** Time to live, condition and fencing token of a write. */
export function OptionFields({ listed, draft, problems, onChange }: OptionFieldsProps): JSX.Element {
  const { rows$, now$ } = useConsole()
  const facts = useCell(rows$).get(listed?.id ?? '')?.facts
  const now = useCell(now$)
  const expiry =
    facts?.expiresAt === undefined
      ? 'Empty: it stays for good.'
      : `Ends in ${left(facts.expiresAt - now)}. Empty: it stays for good.`
  return (
    <div class="fields">
      <Field
        label="Expires in, seconds"
        hint={expiry}
        problem={problems.expires}
        input={ties => (
          <input
            {...ties}
            class="mono"
            inputMode="decimal"
            autocomplete="off"
            placeholder="never"
            value={draft.expires}
            onInput={({ currentTarget }) => onChange({ ...draft, expires: currentTarget.value })}
          />
        )}
      />
      <Field
        label="Condition"
        input={ties => (
          <select
            {...ties}
            value={draft.condition}
            onChange={({ currentTarget }) => onChange({ ...draft, condition: conditionOf(currentTarget.value) })}
          >
            {CONDITIONS.map(({ condition, words }) => (
              <option key={condition} value={condition}>
                {words}
              </option>
            ))}
          </select>
        )}
      />
      <TokenField
        token={draft.token}
        stored={facts?.fencingToken}
        problem={problems.token}
        onChange={token => onChange({ ...draft, token })}
      />
    </div>
  )
}

const conditionOf = (value: string): Condition =>
  CONDITIONS.find(({ condition }) => condition === value)?.condition ?? 'always'

interface TokenFieldProps {
  readonly token: string
  /** That of the key. */
  readonly stored: string | undefined
  readonly problem?: string | undefined
  onChange(token: string): void
}

/** A fencing token. The stored one is offered and not filled in: a write with it passes by the lock. */
export const TokenField = ({ token, stored, problem, onChange }: TokenFieldProps): JSX.Element => (
  <div class="field-wide">
    <Field
      label="Fencing token"
      problem={problem}
      hint={
        stored === undefined ? (
          'The version of a lock, if one protects the key.'
        ) : (
          <>
            Protected by {stored}.{' '}
            <button type="button" class="link" onClick={() => onChange(stored)}>
              Use it, past its lock
            </button>
          </>
        )
      }
      input={ties => (
        <input
          {...ties}
          class="mono"
          autocomplete="off"
          spellcheck={false}
          placeholder="none"
          value={token}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    />
  </div>
)
