import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { measured } from '../../model/amount.js'
import { summaryOf } from '../../model/summary.js'
import { span } from '../../model/time.js'
import type { Seen, Series } from '../../state/history.js'
import { useConsole } from '../context.js'
import { useCell } from '../use-cell.js'
import type { Chart } from './chart.js'

/** The numbers of the key over time; nothing for a key that holds none. */
export function ChartSection({ seen }: { readonly seen: Seen }): JSX.Element | null {
  const now = useCell(useConsole().now$)
  const { series } = seen
  if (series.values.length === 0) return null
  const { least, most, mean, latest } = summaryOf(series, now)
  const time = span(now - (series.times[0] ?? now))
  const words = `${series.values.length} values in ${time}, from ${measured(least)} to ${measured(most)}, now ${measured(latest)}`
  return (
    <section class="chart" aria-label="Chart">
      <h3>
        Chart <span class="hint">{time}</span>
      </h3>
      <Drawing series={series} now={now} label={words} />
      <dl class="chart-summary">
        <dt>lowest</dt>
        <dd>{measured(least)}</dd>
        <dt>mean</dt>
        <dd>{mean}</dd>
        <dt>highest</dt>
        <dd>{measured(most)}</dd>
      </dl>
    </section>
  )
}

interface DrawingProps {
  readonly series: Series
  readonly now: number
  readonly label: string
}

/** The library for charts is not small, and loaded when there is something to draw. */
function Drawing({ series, now, label }: DrawingProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const [chart, hold] = useState<Chart>()
  useEffect(() => {
    let closed = false
    let made: Chart | undefined
    import('./chart.js').then(({ drawChart }) => {
      if (closed || !place.current) return
      made = drawChart(place.current)
      hold(made)
    }, console.error)
    return () => {
      closed = true
      made?.close()
    }
  }, [])
  useEffect(() => chart?.show(series, now), [chart, series, now])
  return <div ref={place} class="chart-drawing" role="img" aria-label={label} />
}
