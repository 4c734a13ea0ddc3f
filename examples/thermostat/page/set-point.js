import { combineLatest, merge, tap } from 'rxjs'
import { control } from './control.js'
import { Dial } from './dial.js'
import { find } from './find.js'

/** The dial: what is wanted, and in its middle what is. @param {import('../keys.js').Keys} keys */
export function showSetPoint({ setPoint, mode, temperature, heating }) {
  const root = find('#dial')
  const dial = new Dial(root)
  return merge(
    control(setPoint, dial.turns$).pipe(
      tap(({ value, wanted, failure }) => {
        dial.show(value)
        root.classList.toggle('wanted', wanted)
        find('#notice').textContent = failure === undefined ? '' : `Not set: ${failure.message}`
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
