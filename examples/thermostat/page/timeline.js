import { tap, timer, withLatestFrom } from 'rxjs'
import { Chart } from './chart.js'
import { find } from './find.js'
import { pointsOf } from './point-stream.js'
import { endOf } from './points.js'

/** Interval at which the chart is redrawn, ms, because it moves with time. */
const FRAME = 250

/**
 * Shows a chart of the last minutes.
 *
 * @param {import('../keys.js').Keys} keys
 * @param {import('rx-statestore').Key<readonly import('../keys.js').Point[]>} history
 */
export function showTimeline(keys, history) {
  const chart = new Chart(/** @type {HTMLElement} */ (find('#chart')))
  return timer(0, FRAME).pipe(
    withLatestFrom(pointsOf(keys, history)),
    tap(([, points]) => chart.draw(points, endOf(points, Date.now()))),
  )
}
