import type { JSX, TargetedPointerEvent } from 'preact'
import { useMemo } from 'preact/hooks'
import type { MetricsSample } from '../../../../src/server/console/contract.js'
import type { MetricChart } from '../../model/metrics.js'
import { gapsOf, linePath, PLOT_HEIGHT, PLOT_WIDTH, startOf, type TimeAxis, ticksOf } from '../../model/plot.js'
import { timeOfDay } from '../../model/time.js'

interface PlotProps {
  readonly chart: MetricChart
  readonly samples: readonly MetricsSample[]
  readonly axis: TimeAxis
  /** The value at the top. */
  readonly scale: number
  readonly pointed: number | undefined
  /** The value of each line at the pointed time. */
  readonly values: readonly (number | undefined)[]
  /** The pointed time and its values, for screen readers. */
  readonly valueText: string
  onPoint(time: number | undefined): void
}

/** Number of periods that Page up and Page down move: five minutes. */
const PAGE_PERIODS = 30

/** Draws a chart's lines. It is a slider over the time, so that the keyboard reaches each sample. */
export function Plot(props: PlotProps): JSX.Element {
  const { chart, axis, scale, pointed, values, valueText, onPoint } = props
  const start = startOf(axis)
  const index = pointed === undefined ? PLOT_WIDTH : Math.round((pointed - start) / axis.period)
  const point = (to: number): void => onPoint(start + Math.min(PLOT_WIDTH, Math.max(1, to)) * axis.period)
  const onPointer = ({ clientX, currentTarget }: TargetedPointerEvent<HTMLElement>): void => {
    const { left, width } = currentTarget.getBoundingClientRect()
    point(Math.ceil((PLOT_WIDTH * (clientX - left)) / width))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = targetOf(event.key, index)
    if (to === undefined) return
    event.preventDefault()
    point(to)
  }
  const x = (100 * index) / PLOT_WIDTH
  return (
    <div class="plot">
      <div class="plot-scale" aria-hidden="true">
        {[scale, scale / 2, 0].map(value => (
          <span key={value}>{chart.format(value)}</span>
        ))}
      </div>
      <div
        class="plot-area"
        role="slider"
        tabIndex={0}
        aria-label={`${chart.title}, time`}
        aria-valuemin={1}
        aria-valuemax={PLOT_WIDTH}
        aria-valuenow={index}
        aria-valuetext={valueText}
        onKeyDown={onKeyDown}
        onFocus={() => pointed === undefined && point(PLOT_WIDTH)}
        onBlur={() => onPoint(undefined)}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={({ currentTarget }) => currentTarget !== document.activeElement && onPoint(undefined)}
      >
        <Drawing {...props} />
        {pointed !== undefined && <span class="plot-cursor" style={{ '--x': x }} />}
        {pointed !== undefined &&
          chart.lines.map(({ name, tone }, i) => {
            const value = values[i]
            if (value === undefined) return null
            return (
              <span key={name} class={`plot-point tone-${tone}`} style={{ '--x': x, '--y': (100 * value) / scale }} />
            )
          })}
      </div>
      <div class="plot-times" aria-hidden="true">
        {ticksOf(axis).map(({ at, percent }) => (
          <span key={at} style={{ '--x': percent }}>
            {timeOfDay(at).slice(0, 5)}
          </span>
        ))}
      </div>
    </div>
  )
}

function Drawing({ chart: { lines, mark }, samples, axis, scale }: PlotProps): JSX.Element {
  const paths = useMemo(
    () => lines.map(({ read }) => linePath(samples, read, scale, axis)),
    [lines, samples, scale, axis],
  )
  return (
    <svg
      class="plot-drawing"
      viewBox={`0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {gapsOf(samples, axis).map(({ x, width }) => (
        <rect key={x} class="plot-gap" x={x} width={width} height={PLOT_HEIGHT} />
      ))}
      <path
        class="plot-grid"
        d={`M0 0H${PLOT_WIDTH}M0 ${PLOT_HEIGHT / 2}H${PLOT_WIDTH}M0 ${PLOT_HEIGHT}H${PLOT_WIDTH}`}
      />
      {mark !== undefined && <path class="plot-mark" d={`M0 ${PLOT_HEIGHT * (1 - mark / scale)}H${PLOT_WIDTH}`} />}
      {/* Later lines have higher values, and must not hide the earlier ones. */}
      {lines
        .map(({ name, tone }, i) => <path key={name} class={`plot-line tone-${tone}`} d={paths[i] ?? ''} />)
        .reverse()}
    </svg>
  )
}

/** Returns the index that a key moves to, or `undefined` for other keys. */
function targetOf(key: string, index: number): number | undefined {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return index - 1
  if (key === 'ArrowRight' || key === 'ArrowUp') return index + 1
  if (key === 'PageDown') return index - PAGE_PERIODS
  if (key === 'PageUp') return index + PAGE_PERIODS
  if (key === 'Home') return 1
  return key === 'End' ? PLOT_WIDTH : undefined
}
