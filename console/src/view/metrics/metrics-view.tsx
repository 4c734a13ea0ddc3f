import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { chartsOf, type Metrics } from '../../model/metrics.js'
import { axisOf } from '../../model/plot.js'
import { watchMetrics } from '../../state/metrics.js'
import { useConsole } from '../parts/context.js'
import { useCell, useObservable } from '../parts/use-cell.js'
import { Chart } from './chart.js'

/** Shows charts of the last hour. All charts share the time axis, and the time that the user points at. */
export function MetricsView(): JSX.Element {
  const { api } = useConsole()
  const metrics$ = useMemo(() => watchMetrics(api), [api])
  const metrics = useObservable<Metrics | undefined>(metrics$, undefined)
  return (
    <main class="page">
      <div class="page-head">
        <h2>The last hour</h2>
        <p class="hint">
          A sample every 10 s, also while no page is open. Point at a chart to read a time
          <span class="wide-only">, or focus it and press ← →</span>.
        </p>
      </div>
      {metrics && <Charts metrics={metrics} />}
    </main>
  )
}

function Charts({ metrics }: { readonly metrics: Metrics }): JSX.Element {
  const { period, samples } = metrics
  const now = useCell(useConsole().now$)
  const [pointed, setPointed] = useState<number>()
  const { end } = axisOf(samples.at(-1), period, now)
  const axis = useMemo(() => ({ end, period }), [end, period])
  const charts = useMemo(() => chartsOf(metrics), [metrics])
  return (
    <div class="charts">
      {charts.map(chart => (
        <Chart key={chart.title} chart={chart} samples={samples} axis={axis} pointed={pointed} onPoint={setPointed} />
      ))}
    </div>
  )
}
