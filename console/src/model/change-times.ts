/** Times of recent changes, which are drawn as marbles. All times are in ms. */
export interface ChangeTimes {
  readonly sets: readonly number[]
  readonly deletes: readonly number[]
}

export const NO_CHANGE_TIMES: ChangeTimes = { sets: [], deletes: [] }

export const WINDOW_MS = 60_000
/** Minimum distance between marbles, ms. Closer changes share a marble, so that marbles do not touch. */
const MERGE_MS = 2_500

/** Returns whether any changes can be drawn. */
export const hasChanged = ({ sets, deletes }: ChangeTimes, now: number): boolean =>
  [sets.at(-1), deletes.at(-1)].some(last => last !== undefined && last > now - WINDOW_MS)

export function addChangeTime(changeTimes: ChangeTimes, op: 'set' | 'delete', at: number): ChangeTimes {
  const { sets, deletes } = changeTimes
  return op === 'set' ? { sets: addTime(sets, at), deletes } : { sets, deletes: addTime(deletes, at) }
}

function addTime(times: readonly number[], at: number): readonly number[] {
  const time = Math.floor(at / MERGE_MS) * MERGE_MS
  if (times.at(-1) === time) return times
  return [...times.filter(earlier => earlier > at - WINDOW_MS), time]
}

/**
 * Returns SVG path data with a dot per change, on a line whose right end is the current time. A dot is a zero-length
 * line with round caps.
 */
export function dotsPath(times: readonly number[], now: number, width: number, y: number, inset: number): string {
  const scale = (width - 2 * inset) / WINDOW_MS
  return times
    .filter(time => time > now - WINDOW_MS)
    .map(time => `M${Math.round((width - inset - Math.max(0, now - time) * scale) * 10) / 10} ${y}h0`)
    .join('')
}
