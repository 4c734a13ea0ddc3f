import type { JSX } from 'preact'
import { count, counted } from '../../model/amount.js'
import { useConsole } from '../context.js'
import { Sparkline } from '../sparkline.js'
import { useCell } from '../use-cell.js'

/** How busy the store was in the last two minutes. */
export function Activity(): JSX.Element {
  const { last, requests, errors, notifications } = useCell(useConsole().pulses$)
  const totals = requests.reduce((sum, n) => sum + n, 0)
  const failed = errors.reduce((sum, n) => sum + n, 0)
  const share = totals === 0 ? 0 : (100 * failed) / totals
  return (
    <section class="activity" aria-label="Activity">
      <Rate name="Requests per second" values={requests} note={`${count(totals)} in two minutes`} />
      <Rate name="Errors per second" values={errors} note={`${share.toFixed(1)} % of the requests`} tone="bad" />
      <Rate
        name="Notifications per second"
        values={notifications}
        note={counted(last?.watches ?? 0, 'watch', 'watches')}
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
    <p class="rate-now">{count(values.at(-1) ?? 0)}</p>
    <Sparkline of={name} values={values} />
    <p class="hint">
      <span>{note}</span>
      <span>highest {count(Math.max(0, ...values))}</span>
    </p>
  </div>
)
