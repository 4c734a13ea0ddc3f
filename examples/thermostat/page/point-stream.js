import { catchError, combineLatest, EMPTY, filter, map, merge, scan, startWith, switchMap } from 'rxjs'
import { appended, filled, gapAt, pointOf, recent } from './points.js'

/** @typedef {readonly import('../keys.js').Point[]} Points */
/**
 * The parts of a key that the chart needs.
 *
 * @template T
 * @typedef {Pick<import('rx-statestore').Key<T>, 'entries$' | 'freshness$'>} Watched
 */

/**
 * Emits the points of the chart: live values, a gap while they are stale, and after each reconnect the history that the
 * room recorded in the meantime.
 *
 * @param {{ temperature: Watched<number>, setPoint: Watched<number>, heating: Watched<boolean> }} keys
 * @param {{ get(): import('rxjs').Observable<{ readonly value?: Points | undefined }> }} history
 * @returns {import('rxjs').Observable<Points>}
 */
export function pointsOf({ temperature, setPoint, heating }, history) {
  const isLive$ = combineLatest([temperature.freshness$, setPoint.freshness$, heating.freshness$]).pipe(
    map(all => all.every(({ state }) => state === 'live')),
  )
  // After a reconnect the keys are read one after the other, and a point must not combine new values with stale ones.
  const live$ = combineLatest([isLive$, temperature.entries$, setPoint.entries$, heating.entries$]).pipe(
    filter(([isLive]) => isLive),
    map(([, ...entries]) => pointOf(...entries)),
    filter(point => point !== undefined),
    map(point => (/** @type {Points} */ points) => appended(points, point)),
  )
  const lost$ = temperature.freshness$.pipe(
    filter(freshness => freshness.state === 'stale'),
    map(({ since }) => (/** @type {Points} */ points) => [...points, gapAt(since, points)]),
  )
  const remembered$ = temperature.freshness$.pipe(
    filter(({ state }) => state === 'live'),
    // A failure only leaves the gap in the chart.
    switchMap(() => history.get().pipe(catchError(() => EMPTY))),
    map(
      ({ value = [] }) =>
        (/** @type {Points} */ points) =>
          filled(points, value),
    ),
  )
  return merge(live$, lost$, remembered$).pipe(
    scan((points, change) => recent(change(points), Date.now()), /** @type {Points} */ ([])),
    startWith(/** @type {Points} */ ([])),
  )
}
