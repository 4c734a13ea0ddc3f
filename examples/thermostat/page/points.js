// Pure functions for the points of the chart, oldest first: they append a point, fill a gap and trim.

/** @typedef {import('../keys.js').Point} Point */

/** The time that the chart covers, ms. */
export const SPAN = 300_000

/**
 * Returns a point without values, at which the line ends. The point follows the others even if the clocks of store and
 * page differ.
 *
 * @param {number} at @param {readonly Point[]} points @returns {Point}
 */
export const gapAt = (at, points) => [Math.max(at, (points.at(-1)?.[0] ?? 0) + 1), Number.NaN, Number.NaN, 0]

/**
 * Appends a point, unless it is known already, as after a reconnect during which nothing changed.
 *
 * @param {readonly Point[]} points @param {Point} point
 */
export const appended = (points, point) => (point[0] > (points.at(-1)?.[0] ?? 0) ? [...points, point] : points)

/**
 * Returns the periods without values, which end with the next point, or `now`.
 *
 * @param {readonly Point[]} points @param {number} now
 */
export const unknown = (points, now) =>
  points.flatMap(([at, temperature], i) =>
    Number.isNaN(temperature) ? [/** @type {const} */ ([at, points[i + 1]?.[0] ?? now])] : [],
  )

/**
 * Merges live points with the history. The history replaces the live points that it covers.
 *
 * @param {readonly Point[]} points @param {readonly Point[]} history
 */
export function filled(points, history) {
  const end = history.at(-1)?.[0] ?? 0
  return [...history, ...points.filter(([at]) => at > end)]
}

/**
 * Returns the end of the chart: now, or the last point if the clock of the page is behind the store's.
 *
 * @param {readonly Point[]} points @param {number} now
 */
export const endOf = (points, now) => Math.max(now, points.at(-1)?.[0] ?? 0)

/**
 * Removes the points before the chart, except one beyond its edge, from which the line starts.
 *
 * @param {readonly Point[]} points @param {number} now
 */
export function recent(points, now) {
  const end = endOf(points, now)
  const first = points.findIndex(([at]) => at > end - SPAN)
  return first > 0 ? points.slice(first - 1) : points
}

/**
 * Returns a point with the latest values, at the time of the newest of their versions; `undefined` if an entry has no
 * value.
 *
 * @param {import('rx-statestore').Entry<number>} temperature
 * @param {import('rx-statestore').Entry<number>} setPoint
 * @param {import('rx-statestore').Entry<boolean>} heating
 * @returns {Point | undefined}
 */
export function pointOf(temperature, setPoint, heating) {
  if (temperature.op !== 'set' || setPoint.op !== 'set' || heating.op !== 'set') return undefined
  const at = Math.max(...[temperature, setPoint, heating].map(({ version }) => version?.wallClock ?? 0))
  return [at, temperature.value, setPoint.value, heating.value ? 1 : 0]
}

/**
 * Returns the periods of heating.
 *
 * @param {readonly Point[]} points
 * @returns {(readonly [from: number, to: number])[]}
 */
export function heated(points) {
  /** @type {[number, number][]} */
  const times = []
  points.forEach(([at, , , heating], i) => {
    if (heating === 0) return
    const last = times.at(-1)
    const next = points[i + 1]?.[0] ?? at
    if (last?.[1] === at) last[1] = next
    else times.push([at, next])
  })
  return times
}
