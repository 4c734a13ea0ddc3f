import type { JSX } from 'preact'
import { formatCount, pluralize } from '../../model/amount.js'
import { useConsole } from '../parts/context.js'
import { Sparkline } from '../parts/sparkline.js'
import { UNKNOWN, useIsCurrent } from '../parts/state-mark.js'
import { useCell } from '../parts/use-cell.js'

export function Activity(): JSX.Element {
  const { last, requests, errors, notifications } = useCell(useConsole().stats$)
  const totals = requests.reduce((sum, n) => sum + n, 0)
  const failed = errors.reduce((sum, n) => sum + n, 0)
  const errorPercent = totals === 0 ? 0 : (100 * failed) / totals
  return (
    <section aria-label="Activity">
      <h2 class="unseen">Activity</h2>
      <div class="activity">
        <Rate name="Requests per second" values={requests} note={`${formatCount(totals)} in two minutes`} />
        <Rate
          name="Errors per second"
          values={errors}
          note={`${errorPercent.toFixed(1)} % of the requests`}
          tone="bad"
        />
        <Rate
          name="Notifications per second"
          values={notifications}
          note={pluralize(last?.watches ?? 0, 'watch', 'watches')}
          tone="quiet"
        />
      </div>
    </section>
  )
}

interface RateProps {
  readonly name: string
  readonly values: readonly number[]
  readonly note: string
  readonly tone?: string
}

function Rate({ name, values, note, tone = '' }: RateProps): JSX.Element {
  const isCurrent = useIsCurrent() && values.length > 0
  return (
    <div class={`rate rate-large ${tone} ${isCurrent && values.at(-1) ? 'active' : ''}`}>
      <h3>{name}</h3>
      <p class="rate-now">{isCurrent ? formatCount(values.at(-1) ?? 0) : UNKNOWN}</p>
      <Sparkline of={name} values={values} />
      <p class="hint">
        <span>{isCurrent ? note : UNKNOWN}</span>
        <span>highest {isCurrent ? formatCount(Math.max(0, ...values)) : UNKNOWN}</span>
      </p>
    </div>
  )
}
