import type { JSX } from 'preact'
import type { Condition, Draft } from '../../model/draft.js'
import type { ListedKey } from '../../model/listed-key.js'
import { formatRemaining } from '../../model/time.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'
import { Field } from './fields.js'

interface DraftFieldProps {
  readonly draft: Draft
  onChange(draft: Draft): void
}

export const KeyField = ({
  draft,
  problem,
  onChange,
}: DraftFieldProps & { readonly problem: string | undefined }): JSX.Element => (
  <Field
    label="Key"
    problem={problem}
    render={attributes => (
      <input
        {...attributes}
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

const CONDITIONS: readonly { readonly condition: Condition; readonly label: string }[] = [
  { condition: 'always', label: 'Always overwrite' },
  { condition: 'ifAbsent', label: 'Only if the key does not exist' },
  { condition: 'ifAbsentOrEqual', label: 'Only if absent or equal to this value' },
]

interface OptionFieldsProps extends DraftFieldProps {
  readonly listed: ListedKey | undefined
  readonly problems: { readonly expires?: string; readonly token?: string }
}

export function OptionFields({ listed, draft, problems, onChange }: OptionFieldsProps): JSX.Element {
  const { rows$, now$ } = useConsole()
  const facts = useCell(rows$).get(listed?.id ?? '')?.facts
  const now = useCell(now$)
  const expiry =
    facts?.expiresAt === undefined
      ? 'Leave empty to keep forever.'
      : `Expires in ${formatRemaining(facts.expiresAt - now)}. Leave empty to keep forever.`
  return (
    <div class="fields">
      <Field
        label="Expires in (seconds)"
        hint={expiry}
        problem={problems.expires}
        render={attributes => (
          <input
            {...attributes}
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
        render={attributes => (
          <select
            {...attributes}
            value={draft.condition}
            onChange={({ currentTarget }) => onChange({ ...draft, condition: conditionOf(currentTarget.value) })}
          >
            {CONDITIONS.map(({ condition, label }) => (
              <option key={condition} value={condition}>
                {label}
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
  readonly stored: string | undefined
  readonly problem?: string | undefined
  onChange(token: string): void
}

/**
 * Shows a field for a fencing token. The stored token is offered but not filled in, because writing with it bypasses
 * the lock.
 */
export const TokenField = ({ token, stored, problem, onChange }: TokenFieldProps): JSX.Element => (
  <div class="field-wide">
    <Field
      label="Fencing token"
      problem={problem}
      hint={
        stored === undefined ? (
          'Version of the lock, if one protects the key.'
        ) : (
          <>
            Protected by {stored}.{' '}
            <button type="button" class="link" onClick={() => onChange(stored)}>
              Use it, bypassing the lock
            </button>
          </>
        )
      }
      render={attributes => (
        <input
          {...attributes}
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
