import { optimistic } from 'rx-statestore/optimistic'
import { combineLatest, merge, tap } from 'rxjs'
import { control, noticeOf } from './control.js'
import { Dial } from './dial.js'
import { find } from './find.js'

/**
 * Shows the dial with the set point, and the current temperature in its middle.
 *
 * @param {import('../keys.js').Keys} keys
 */
export function showSetPoint({ setPoint, mode, temperature, heating }) {
  const root = find('#dial')
  const dial = new Dial(root)
  return merge(
    // A late write is useful only for a minute, after which the user no longer expects it.
    control(optimistic(setPoint, { offline: 'latest', maxAge: 60_000 }), dial.turns$).pipe(
      tap(shown => {
        dial.show(shown.value)
        root.classList.toggle('wanted', shown.wanted)
        find('#notice').textContent = noticeOf(shown)
      }),
    ),
    temperature.value$.pipe(tap(celsius => dial.showRoom(celsius))),
    combineLatest([mode.value$, heating.value$]).pipe(
      tap(([wanted, isHeating]) => {
        root.classList.toggle('heating', isHeating === true)
        find('.state', root).textContent = isHeating ? 'heating' : wanted === 'off' ? 'switched off' : 'warm enough'
      }),
    ),
  )
}
