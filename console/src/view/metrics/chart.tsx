import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { MetricsSample } from '../../../../src/server/console/contract.js'
import type { Line, MetricChart } from '../../model/metrics.js'
import { sampleAt, scaleOf, startOf, type TimeAxis } from '../../model/plot.js'
import { timeOfDay } from '../../model/time.js'
import { UNKNOWN, useIsCurrent } from '../parts/state-mark.js'
import { Plot } from './plot.js'

interface ChartProps {
  readonly chart: MetricChart
  readonly samples: readonly MetricsSample[]
  readonly axis: TimeAxis
  /** The time at which the values are shown. Default: now. */
  readonly pointed: number | undefined
  onPoint(time: number | undefined): void
}

/** Shows lines over time, with their values now or at the pointed time. */
export function Chart({ chart, samples, axis, pointed, onPoint }: ChartProps): JSX.Element {
  const { title, hint, lines, format } = chart
  const isCurrent = useIsCurrent()
  const shown = useMemo(() => samples.filter(({ at }) => at > startOf(axis)), [samples, axis])
  const ranges = useMemo(() => lines.map(line => rangeOf(line, shown)), [lines, shown])
  const scale = scaleOf(Math.max(chart.minScale, ...ranges.map(range => range?.max ?? 0)))
  const sample = pointed === undefined && !isCurrent ? undefined : sampleAt(shown, pointed ?? axis.end, axis)
  const values = lines.map(({ read }) => (sample === undefined ? undefined : read(sample)))
  const textOf = (value: number | undefined): string => (value === undefined ? UNKNOWN : format(value))
  const time = pointed === undefined ? 'now' : timeOfDay(pointed).slice(0, 8)
  const description = lines.map(({ name }, i) => `${name} ${textOf(values[i])}`).join(', ')
  return (
    <section class={`metric ${pointed === undefined ? '' : 'metric-pointed'}`} aria-label={title}>
      <header class="metric-head">
        <h3>{title}</h3>
        <p class="hint">{hint}</p>
        <p class="metric-time">{time}</p>
      </header>
      <dl class="metric-lines">
        {lines.map(({ name, tone }, i) => (
          <div key={name}>
            <dt class={`metric-name tone-${tone}`}>{name}</dt>
            <dd class="metric-value">{textOf(values[i])}</dd>
            <dd class="metric-range">min {textOf(ranges[i]?.min)}</dd>
            <dd class="metric-range">max {textOf(ranges[i]?.max)}</dd>
          </div>
        ))}
      </dl>
      <Plot
        chart={chart}
        samples={shown}
        axis={axis}
        scale={scale}
        pointed={pointed}
        values={values}
        valueText={`${time}: ${sample === undefined ? 'unknown' : description}`}
        onPoint={onPoint}
      />
    </section>
  )
}

interface Range {
  readonly min: number
  readonly max: number
}

function rangeOf({ read }: Line, samples: readonly MetricsSample[]): Range | undefined {
  const values = samples.flatMap(sample => read(sample) ?? [])
  return values.length === 0 ? undefined : { min: Math.min(...values), max: Math.max(...values) }
}
