import { filter, map, merge, tap } from 'rxjs'
import { find } from './find.js'
import { timeOf } from './time.js'

/** Older ones are dropped. */
const MOST = 60

const SOURCES = { snapshot: 'first read', notification: 'change', resync: 'resync' }

/**
 * What changed, with its version, the latest on top; of readings only those that were read, as the chart has the others.
 *
 * @param {import('../keys.js').Keys} keys
 */
export function showChanges({ setPoint, mode, temperature, humidity, heating }) {
  const list = find('#log')
  return merge(
    setPoint.entries$.pipe(map(entry => rowOf('Set point', entry, value => `${value.toFixed(1)}°`))),
    mode.entries$.pipe(map(entry => rowOf('Mode', entry, String))),
    heating.entries$.pipe(map(entry => rowOf('Heater', entry, value => (value ? 'on' : 'off')))),
    temperature.entries$.pipe(
      filter(({ source }) => source !== 'notification'),
      map(entry => rowOf('Room', entry, value => `${value.toFixed(1)}°`)),
    ),
    humidity.entries$.pipe(
      filter(({ source }) => source !== 'notification'),
      map(entry => rowOf('Humidity', entry, value => `${value} %`)),
    ),
  ).pipe(
    tap(row => {
      list.prepend(row)
      while (list.childElementCount > MOST) list.lastElementChild?.remove()
    }),
  )
}

/**
 * @template T
 * @param {string} name
 * @param {import('rx-statestore').Entry<T>} entry
 * @param {(value: T) => string} inWords
 */
function rowOf(name, entry, inWords) {
  const { op, version, source } = entry
  const row = document.createElement('li')
  row.dataset['source'] = source
  row.append(
    cell('when', version === undefined ? '' : timeOf(version.wallClock)),
    cell('what', `${name} `, cell('value', op === 'set' ? inWords(entry.value) : op)),
    cell('source', SOURCES[source]),
    cell('version', version === undefined ? 'no version' : String(version)),
  )
  return row
}

/** @param {string} name @param {...(string | Node)} content */
function cell(name, ...content) {
  const element = document.createElement('span')
  element.className = name
  element.append(...content)
  return element
}
