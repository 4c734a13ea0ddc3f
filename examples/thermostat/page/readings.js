import { merge, tap } from 'rxjs'
import { find } from './find.js'

/** Shows the sensor readings as numbers. @param {import('../keys.js').Keys} keys */
export const showReadings = ({ temperature, humidity, heating }) =>
  merge(
    temperature.value$.pipe(
      tap(value => {
        find('#temperature').textContent = value === undefined ? '–' : `${value.toFixed(1)}°`
        document.title = value === undefined ? 'Thermostat' : `${value.toFixed(1)}° · Thermostat`
      }),
    ),
    humidity.value$.pipe(
      tap(value => {
        find('#humidity').textContent = value === undefined ? '–' : `${value} %`
      }),
    ),
    heating.value$.pipe(
      tap(value => {
        find('#heating').textContent = value === undefined ? '–' : value ? 'On' : 'Off'
      }),
    ),
  )
