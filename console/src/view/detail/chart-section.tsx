import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { summaryOf } from '../../model/summary.js'
import { formatDuration } from '../../model/time.js'
import type { KeyHistory, Series } from '../../state/history.js'
import { useConsole } from '../parts/context.js'
import { useCell } from '../parts/use-cell.js'
import type { Chart } from './chart.js'

/** Shows a chart of the numeric values of a key, or nothing without numeric values. */
export function ChartSection({ history }: { readonly history: KeyHistory }): JSX.Element | null {
  const now = useCell(useConsole().now$)
  const { series } = history
  if (series.values.length === 0) return null
  const { min, max, mean, latest } = summaryOf(series, now)
  const duration = formatDuration(now - (series.times[0] ?? now))
  const label = `${series.values.length} values in ${duration}, from ${min} to ${max}, now ${latest}`
  return (
    <section class="chart" aria-label="Chart">
      <h3>
        Chart <span class="hint">{duration}</span>
      </h3>
      <Drawing series={series} now={now} label={label} />
      <dl class="chart-summary">
        <dt>lowest</dt>
        <dd>{min}</dd>
        <dt>mean</dt>
        <dd>{mean}</dd>
        <dt>highest</dt>
        <dd>{max}</dd>
      </dl>
    </section>
  )
}

interface DrawingProps {
  readonly series: Series
  readonly now: number
  readonly label: string
}

/** Draws the chart. The chart library is loaded on first use. */
function Drawing({ series, now, label }: DrawingProps): JSX.Element {
  const container = useRef<HTMLDivElement>(null)
  const [chart, setChart] = useState<Chart>()
  useEffect(() => {
    let closed = false
    let created: Chart | undefined
    import('./chart.js').then(({ drawChart }) => {
      if (closed || !container.current) return
      created = drawChart(container.current)
      setChart(created)
    }, console.error)
    return () => {
      closed = true
      created?.close()
    }
  }, [])
  useEffect(() => chart?.show(series, now), [chart, series, now])
  return <div ref={container} class="chart-drawing" role="img" aria-label={label} />
}
