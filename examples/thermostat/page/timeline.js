import {
  catchError,
  combineLatest,
  EMPTY,
  filter,
  map,
  merge,
  scan,
  startWith,
  switchMap,
  tap,
  timer,
  withLatestFrom,
} from 'rxjs'
import { Chart } from './chart.js'
import { find } from './find.js'
import { filled, gapAt, pointOf, recent } from './points.js'

/** Interval at which the chart is redrawn, ms, because it moves with time. */
const FRAME = 250

/**
 * Shows a chart of the last minutes, with live values and, after each reconnect, the history that the room recorded in
 * the meantime.
 *
 * @param {import('../keys.js').Keys} keys
 * @param {import('rx-statestore').Key<readonly import('../keys.js').Point[]>} history
 */
export function showTimeline({ temperature, setPoint, heating }, history) {
  const chart = new Chart(/** @type {HTMLElement} */ (find('#chart')))
  const freshness$ = temperature.freshness$

  const live$ = combineLatest([temperature.entries$, setPoint.entries$, heating.entries$]).pipe(
    map(entries => pointOf(...entries)),
    filter(point => point !== undefined),
    map(point => (/** @type {Points} */ points) => [...points, point]),
  )
  const lost$ = freshness$.pipe(
    filter(freshness => freshness.state === 'stale'),
    map(({ since }) => (/** @type {Points} */ points) => [...points, gapAt(since)]),
  )
  const remembered$ = freshness$.pipe(
    filter(({ state }) => state === 'live'),
    // A failure only leaves the gap in the chart.
    switchMap(() => history.get().pipe(catchError(() => EMPTY))),
    map(
      ({ value = [] }) =>
        (/** @type {Points} */ points) =>
          filled(points, value),
    ),
  )
  const points$ = merge(live$, lost$, remembered$).pipe(
    scan((points, change) => recent(change(points), Date.now()), /** @type {Points} */ ([])),
    startWith(/** @type {Points} */ ([])),
  )
  return timer(0, FRAME).pipe(
    withLatestFrom(points$, freshness$),
    tap(([, points, freshness]) => {
      chart.draw(points, Date.now(), freshness.state === 'stale' ? freshness.since : undefined)
    }),
  )
}

/** @typedef {readonly import('../keys.js').Point[]} Points */
