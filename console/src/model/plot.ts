/** The width of a plot in periods, and its height, in units of the drawing. */
export const PLOT_WIDTH = 360
export const PLOT_HEIGHT = 100

interface Timed {
  readonly at: number
}

/** The time of a plot. All times are in ms. */
export interface TimeAxis {
  readonly end: number
  readonly period: number
}

/** The number of periods without a sample after which the newest sample is out of date. A page polls for samples. */
const MAX_MISSING = 2

/** Returns the axis that ends with the newest sample, or now if that sample is out of date. */
export function axisOf(newest: Timed | undefined, period: number, now: number): TimeAxis {
  const at = newest?.at ?? 0
  const missing = Math.floor((now - at) / period)
  return { end: missing <= MAX_MISSING ? at : at + missing * period, period }
}

export const startOf = ({ end, period }: TimeAxis): number => end - PLOT_WIDTH * period

const xOf = (axis: TimeAxis, at: number): number => (at - startOf(axis)) / axis.period

/** Returns whether at least one sample is missing between two samples. */
const hasGap = (before: Timed, after: Timed, { period }: TimeAxis): boolean => after.at - before.at > 2 * period

/**
 * Returns the path of a line. The line is interrupted at unknown values and where samples are missing, because the value
 * in between is not known.
 */
export function linePath<S extends Timed>(
  samples: readonly S[],
  read: (sample: S) => number | undefined,
  scale: number,
  axis: TimeAxis,
): string {
  let before: S | undefined
  let path = ''
  for (const sample of samples) {
    const value = read(sample)
    if (value === undefined || sample.at < startOf(axis)) {
      before = undefined
      continue
    }
    const point = `${round(xOf(axis, sample.at))} ${round(PLOT_HEIGHT * (1 - value / scale))}`
    // A part of length 0 draws a point.
    path += before === undefined || hasGap(before, sample, axis) ? `M${point}h0` : `L${point}`
    before = sample
  }
  return path
}

/** A span of a plot without samples. */
export interface Gap {
  readonly x: number
  readonly width: number
}

export function gapsOf(samples: readonly Timed[], axis: TimeAxis): readonly Gap[] {
  const ends = [{ at: startOf(axis) }, ...samples, { at: axis.end + axis.period }]
  return ends.flatMap((after, i) => {
    const before = ends[i - 1]
    if (before === undefined || !hasGap(before, after, axis)) return []
    // A sample covers the period before it.
    const [from, to] = [Math.max(0, xOf(axis, before.at)), xOf(axis, after.at - axis.period)]
    return to > from ? [{ x: round(from), width: round(to - from) }] : []
  })
}

/** Returns a round number that is at least `max`. Half of it is also round. */
export function scaleOf(max: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(max))
  return magnitude * ([1, 2, 4, 5].find(step => step * magnitude >= max) ?? 10)
}

const TICK_MS = 15 * 60_000

export interface Tick {
  readonly at: number
  /** The position, in percent of the width. */
  readonly percent: number
}

/** Returns the quarter hours of an axis in local time. */
export function ticksOf(axis: TimeAxis): readonly Tick[] {
  const start = startOf(axis)
  const offsetMs = new Date(start).getTimezoneOffset() * 60_000
  const first = Math.ceil((start - offsetMs) / TICK_MS) * TICK_MS + offsetMs
  return Array.from({ length: Math.floor((axis.end - first) / TICK_MS) + 1 }, (_, i) => {
    const at = first + i * TICK_MS
    return { at, percent: (100 * (at - start)) / (axis.end - start) }
  })
}

/** Returns the sample whose period contains a time. Periods vary, because the timers of a busy process are late. */
export const sampleAt = <S extends Timed>(samples: readonly S[], time: number, { period }: TimeAxis): S | undefined =>
  samples.find(({ at }) => at >= time && at - 1.5 * period < time)

const round = (n: number): number => Math.round(n * 100) / 100
