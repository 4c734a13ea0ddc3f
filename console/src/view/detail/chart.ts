import UPlot from 'uplot'
import { timeOfDay } from '../../model/time.js'
import type { Series } from '../../state/history.js'
import 'uplot/dist/uPlot.min.css'

/** A chart on the page. */
export interface Chart {
  /** @param now - where the last value goes to, ms */
  show(series: Series, now: number): void
  close(): void
}

/** CSS pixels. */
const HEIGHT = 150
/** The chart shows this time at least, ms. */
const LEAST_TIME = 5_000

/** Draws numbers into an element, as steps: a value stands until the next one comes. */
export function drawChart(place: HTMLElement): Chart {
  const options = optionsOf(place)
  const plot = new UPlot(options, [[], []], place)
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
  observer.observe(place)
  // The colours are those of the theme, which may change.
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

function optionsOf(place: HTMLElement): UPlot.Options {
  const colour = (name: string) => () => getComputedStyle(place).getPropertyValue(name)
  const font = `11px ${getComputedStyle(place).fontFamily}`
  const axis = { stroke: colour('--ink-3'), font, grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const { stepped } = UPlot.paths
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    padding: [8, 4, 0, 0],
    scales: {
      x: { range: (_plot, from, to) => [Math.min(from, to - toSeconds(LEAST_TIME)), to] },
      y: { range: roomy },
    },
    axes: [
      { ...axis, size: 24, gap: 4, space: 80, values: (_plot, splits) => splits.map(clock) },
      { ...axis, size: 46, gap: 6, space: 28 },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        fill: colour('--accent-wash'),
        width: 1.5,
        points: { show: false },
        ...(stepped && { paths: stepped({ align: 1 }) }),
      },
    ],
  }
}

/** Some room above and below, also around a line that is flat. */
function roomy(_plot: UPlot, from: number | null, to: number | null): [number, number] {
  if (from === null || to === null) return [0, 1]
  const room = (to - from) * 0.1 || Math.abs(to) * 0.05 || 1
  return [from - room, to + room]
}
