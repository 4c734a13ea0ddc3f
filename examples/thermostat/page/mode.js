import { optimistic } from 'rx-statestore/optimistic'
import { fromEvent, map, merge, of, tap } from 'rxjs'
import { MODES } from '../keys.js'
import { control, noting } from './control.js'
import { find } from './find.js'
import { Notice } from './notice.js'

/** Shows the modes of the heater, to choose from. @param {import('../keys.js').Keys} keys */
export function showMode({ mode }) {
  const radios = MODES.map(value => ({
    value,
    input: /** @type {HTMLInputElement} */ (find(`#mode [value=${value}]`)),
  }))
  const choices$ = radios.map(({ value, input }) => fromEvent(input, 'change').pipe(map(() => of(value))))
  return control(optimistic(mode, { offline: 'latest', maxAge: 60_000 }), merge(...choices$)).pipe(
    tap(shown => {
      for (const { value, input } of radios) input.checked = value === shown.value
    }),
    noting(new Notice(find('#mode-notice'))),
  )
}
