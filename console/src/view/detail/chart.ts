import UPlot from 'uplot'
import styles from 'uplot/dist/uPlot.min.css?inline'
import { formatFixed } from '../../model/amount.js'
import { decimalsOf } from '../../model/summary.js'
import { timeOfDay } from '../../model/time.js'
import type { Series } from '../../state/history.js'
import { adopt, styleSheet } from '../parts/style-sheet.js'

export interface Chart {
  /** @param now - the end of the last step, ms */
  show(series: Series, now: number): void
  close(): void
}

const sheet = styleSheet(styles)

/** Height of the chart, CSS pixels. */
const HEIGHT = 150
const MIN_SPAN_MS = 5_000

/** Draws a step chart, in which a value holds until the next one. */
export function drawChart(container: HTMLElement): Chart {
  adopt(sheet)
  const options = optionsOf(container)
  const plot = new UPlot(options, [[], []], container)
  const observer = new ResizeObserver(() => plot.setSize({ width: container.clientWidth, height: HEIGHT }))
  observer.observe(container)
  // The chart is repainted when the theme changes, because its colours depend on the theme.
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  const repaint = (): void => plot.redraw(false, true)
  const themes = new MutationObserver(repaint)
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  scheme.addEventListener('change', repaint)
  return {
    show: ({ times, values }, now) => {
      const last = values.at(-1)
      const end = Math.max(now, (times.at(-1) ?? 0) + 1)
      plot.setData([
        [...times.map(toSeconds), toSeconds(end)],
        [...values, ...(last === undefined ? [] : [last])],
      ])
    },
    close: () => {
      observer.disconnect()
      themes.disconnect()
      scheme.removeEventListener('change', repaint)
      plot.destroy()
    },
  }
}

const clock = (seconds: number): string => timeOfDay(seconds * 1_000).slice(0, 8)
const toSeconds = (ms: number): number => ms / 1_000

function optionsOf(container: HTMLElement): UPlot.Options {
  const colour = (name: string) => () => getComputedStyle(container).getPropertyValue(name)
  const font = `11px ${getComputedStyle(container).fontFamily}`
  const axis = { stroke: colour('--ink-3'), font, grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const { stepped } = UPlot.paths
  return {
    width: container.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    padding: [8, 4, 0, 0],
    scales: {
      x: { range: (_plot, from, to) => [Math.min(from, to - toSeconds(MIN_SPAN_MS)), to] },
      y: { range: paddedRange },
    },
    axes: [
      { ...axis, size: 24, gap: 4, space: 80, values: timeLabels },
      { ...axis, size: axisWidth, gap: 6, space: 28, values: axisValues },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        width: 1.5,
        // The last point only extends the line to the current time.
        points: { show: true, size: 5, fill: colour('--accent'), filter: plot => changeIndexes(plot.data[0].length) },
        ...(stepped && { paths: stepped({ align: 1 }) }),
      },
    ],
  }
}

/** Half of the width of a time of day, minus the chart's padding, CSS pixels. */
const LABEL_OVERHANG = 22

/** Formats the times of an axis, except a time that would be cut at the right edge. */
const timeLabels = (plot: UPlot, splits: number[]): string[] =>
  splits.map(split =>
    plot.valToPos(split, 'x') > plot.bbox.width / devicePixelRatio - LABEL_OVERHANG ? '' : clock(split),
  )

const changeIndexes = (points: number): number[] => Array.from({ length: Math.max(0, points - 1) }, (_, i) => i)

/** Formats the values of an axis with the decimals of its steps. */
const axisValues = (_plot: UPlot, splits: number[]): string[] => {
  const digits = decimalsOf(splits)
  return splits.map(split => formatFixed(split, digits))
}

/** Returns the width of an axis whose labels have digits of equal width. */
const axisWidth = (_plot: UPlot, labels: string[] | null): number =>
  Math.max(40, ...(labels ?? []).map(({ length }) => 12 + 7 * length))

/** Adds space above and below the values, even for a constant value. */
function paddedRange(_plot: UPlot, from: number | null, to: number | null): [number, number] {
  if (from === null || to === null) return [0, 1]
  const padding = (to - from) * 0.1 || Math.abs(to) * 0.05 || 1
  return [from - padding, to + padding]
}
