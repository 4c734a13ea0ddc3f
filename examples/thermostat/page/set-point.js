import { optimistic } from 'rx-statestore/optimistic'
import { combineLatest, merge, tap } from 'rxjs'
import { control, noting } from './control.js'
import { Dial } from './dial.js'
import { find } from './find.js'
import { Notice } from './notice.js'

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
      tap(shown => dial.show(shown.value)),
      noting(new Notice(find('#notice'))),
      tap(({ state }) => root.setAttribute('data-state', state)),
    ),
    temperature.value$.pipe(tap(celsius => dial.showRoom(celsius))),
    combineLatest([mode.value$, heating.value$]).pipe(
      tap(([wanted, isHeating]) => {
        root.classList.toggle('heating', isHeating === true)
        find('.state', root).textContent = workOf(wanted, isHeating)
      }),
    ),
  )
}

/** @param {import('../keys.js').Mode | undefined} mode @param {boolean | undefined} isHeating */
function workOf(mode, isHeating) {
  if (isHeating) return 'heating'
  if (mode === 'off') return 'switched off'
  return isHeating === undefined ? '' : 'warm enough'
}
