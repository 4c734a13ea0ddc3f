import uPlot from 'uplot'
import { heated, SPAN, unknown } from './points.js'
import { minuteOf } from './time.js'

/** Minimum range of the chart, degrees, so that small changes look small. */
const MIN_DEGREES = 4
/** Possible times between two labels, s. The first one that fits is used. */
const LABEL_INTERVALS = [60, 120, 300]
/** Height of the strip, CSS pixels. */
const STRIP_HEIGHT = 4

/** Draws temperature and set point over time, the times of heating, and the times without values. */
export class Chart {
  #root
  #plot
  #now = Date.now()
  /** @type {readonly import('../keys.js').Point[]} */
  #points = []

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root
    this.#plot = new uPlot(this.#options(), [[], [], []], root)
    new ResizeObserver(() => this.#plot.setSize(this.#size)).observe(root)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#plot.redraw())
  }

  /**
   * @param {readonly import('../keys.js').Point[]} points
   * @param {number} now - ms since the Unix epoch
   */
  draw(points, now) {
    this.#points = points
    this.#now = now
    const value = (/** @type {number} */ number) => (Number.isNaN(number) ? null : number)
    this.#plot.setData([
      points.map(([at]) => at / 1000),
      points.map(([, temperature]) => value(temperature)),
      points.map(([, , setPoint]) => value(setPoint)),
    ])
  }

  get #size() {
    return { width: this.#root.clientWidth, height: this.#root.clientHeight }
  }

  /** @returns {uPlot.Options} */
  #options() {
    const line = () => this.#colour('--line')
    const axis = {
      stroke: () => this.#colour('--ink-3'),
      ticks: { show: false },
      font: `12px ${getComputedStyle(this.#root).fontFamily}`,
    }
    const grid = { stroke: line, width: 1 }
    return {
      ...this.#size,
      padding: [10, 18, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { range: () => [(this.#now - SPAN) / 1000, this.#now / 1000] },
        y: { range: (_plot, min, max) => rangeFor(min, max) },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 44,
          size: 28,
          incrs: LABEL_INTERVALS,
          values: (_plot, splits) => splits.map(seconds => minuteOf(seconds * 1000)),
        },
        { ...axis, grid, size: 40, space: 36, values: (_plot, splits) => this.#labels(splits) },
      ],
      series: [
        {},
        {
          stroke: () => this.#colour('--heat'),
          fill: plot => this.#shade(plot),
          width: 2.5,
          points: { show: false },
        },
        {
          stroke: () => this.#colour('--ink-3'),
          width: 1.5,
          dash: [5, 4],
          points: { show: false },
          ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
        },
      ],
      hooks: { drawClear: [plot => this.#drawUnknown(plot)], draw: [plot => this.#drawHeated(plot)] },
    }
  }

  /** The scale is arbitrary before the first value, so it has no labels. @param {number[]} splits */
  #labels(splits) {
    return splits.map(degrees => (this.#points.length > 0 ? `${degrees}°` : ''))
  }

  /** @param {uPlot} plot */
  #shade(plot) {
    const { top, height } = plot.bbox
    const gradient = plot.ctx.createLinearGradient(0, top, 0, top + height)
    gradient.addColorStop(0, this.#colour('--heat-soft'))
    gradient.addColorStop(1, 'transparent')
    return gradient
  }

  /** @param {uPlot} plot */
  #drawUnknown(plot) {
    const { left, top, width, height } = plot.bbox
    const x = (/** @type {number} */ at) => Math.min(left + width, Math.max(left, plot.valToPos(at / 1000, 'x', true)))
    plot.ctx.save()
    plot.ctx.fillStyle = this.#colour('--warn-soft')
    for (const [from, to] of unknown(this.#points, this.#now)) plot.ctx.fillRect(x(from), top, x(to) - x(from), height)
    plot.ctx.restore()
  }

  /** Draws a strip at the bottom for the times of heating. @param {uPlot} plot */
  #drawHeated(plot) {
    const { left, top, width, height } = plot.bbox
    const y = top + height - (STRIP_HEIGHT / 2) * devicePixelRatio
    // uPlot keeps its former settings and would otherwise draw its lines with the settings below.
    plot.ctx.save()
    plot.ctx.strokeStyle = this.#colour('--heat')
    plot.ctx.lineWidth = STRIP_HEIGHT * devicePixelRatio
    plot.ctx.setLineDash([])
    plot.ctx.beginPath()
    for (const [from, to] of heated(this.#points)) {
      const x = (/** @type {number} */ at) => Math.max(left, plot.valToPos(at / 1000, 'x', true))
      plot.ctx.moveTo(x(from), y)
      plot.ctx.lineTo(Math.min(left + width, x(to)), y)
    }
    plot.ctx.stroke()
    plot.ctx.restore()
  }

  /** @param {string} name */
  #colour(name) {
    return getComputedStyle(this.#root).getPropertyValue(name)
  }
}

/** @param {number} min @param {number} max @returns {[number, number]} */
function rangeFor(min, max) {
  const middle = (min + max) / 2
  const half = Math.max((max - min) / 2 + 0.6, MIN_DEGREES / 2)
  return [middle - half, middle + half]
}
