import type { JSX } from 'preact'
import { formatCount, pluralize } from '../../model/amount.js'
import { useConsole } from '../context.js'
import { Sparkline } from '../sparkline.js'
import { useCell } from '../use-cell.js'

export function Activity(): JSX.Element {
  const { last, requests, errors, notifications } = useCell(useConsole().stats$)
  const totals = requests.reduce((sum, n) => sum + n, 0)
  const failed = errors.reduce((sum, n) => sum + n, 0)
  const errorPercent = totals === 0 ? 0 : (100 * failed) / totals
  return (
    <section class="activity" aria-label="Activity">
      <Rate name="Requests per second" values={requests} note={`${formatCount(totals)} in two minutes`} />
      <Rate name="Errors per second" values={errors} note={`${errorPercent.toFixed(1)} % of the requests`} tone="bad" />
      <Rate
        name="Notifications per second"
        values={notifications}
        note={pluralize(last?.watches ?? 0, 'watch', 'watches')}
        tone="quiet"
      />
    </section>
  )
}

interface RateProps {
  readonly name: string
  readonly values: readonly number[]
  readonly note: string
  readonly tone?: string
}

const Rate = ({ name, values, note, tone = '' }: RateProps): JSX.Element => (
  <div class={`rate rate-large ${tone} ${values.at(-1) ? 'active' : ''}`}>
    <h3>{name}</h3>
    <p class="rate-now">{formatCount(values.at(-1) ?? 0)}</p>
    <Sparkline of={name} values={values} />
    <p class="hint">
      <span>{note}</span>
      <span>highest {formatCount(Math.max(0, ...values))}</span>
    </p>
  </div>
)
