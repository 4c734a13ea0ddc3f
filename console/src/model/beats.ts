/** When changes came: what the marbles of a key are drawn from. Times in ms. */
export interface ChangeTimes {
  readonly sets: readonly number[]
  readonly deletes: readonly number[]
}

/** A key nothing was heard of. */
export const NO_BEATS: ChangeTimes = { sets: [], deletes: [] }

/** How long a change stays to be seen. */
export const MEMORY = 60_000
/** Changes closer than this are one marble, so that those beside each other do not touch. */
const GRAIN = 2_500

/** With a change at a time. */
export function withBeat(beats: ChangeTimes, op: 'set' | 'delete', at: number): ChangeTimes {
  const { sets, deletes } = beats
  return op === 'set' ? { sets: added(sets, at), deletes } : { sets, deletes: added(deletes, at) }
}

function added(times: readonly number[], at: number): readonly number[] {
  const time = Math.floor(at / GRAIN) * GRAIN
  if (times.at(-1) === time) return times
  return [...times.filter(earlier => earlier > at - MEMORY), time]
}

/**
 * Data of an SVG path of dots, for a line of this width whose right end is now: lines of no length, round at their ends.
 */
export function dots(times: readonly number[], now: number, width: number, y: number, inset: number): string {
  const scale = (width - 2 * inset) / MEMORY
  return times
    .filter(time => time > now - MEMORY)
    .map(time => `M${Math.round((width - inset - Math.max(0, now - time) * scale) * 10) / 10} ${y}h0`)
    .join('')
}
