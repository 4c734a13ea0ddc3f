import { filter, map, merge, tap } from 'rxjs'
import { find } from './find.js'
import { timeOf } from './time.js'

/** Maximum number of rows. Older rows are dropped. */
const MAX_ROWS = 60

const SOURCES = { snapshot: 'at start', notification: 'change', resync: 'after reconnect' }

const WITHOUT_VALUE = { absent: 'not set', delete: 'deleted', invalid: 'unreadable' }

/** The versions of rows, for rows that have a version. @type {WeakMap<Element, import('rx-statestore').Hlc>} */
const versions = new WeakMap()

/**
 * Lists changes with their versions, the newest on top. Of the readings, only the first one is listed, because the
 * chart shows the others.
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
      insert(list, row)
      while (list.childElementCount > MAX_ROWS) list.lastElementChild?.remove()
    }),
  )
}

/**
 * Inserts a row below all newer rows, because the initial reads of keys are not ordered by time. An absent key has no
 * version, and its row is treated as the newest.
 *
 * @param {Element} list
 * @param {Element} row
 */
function insert(list, row) {
  const version = versions.get(row)
  const isOlder = (/** @type {Element} */ other) => version === undefined || !isNewer(versions.get(other), version)
  list.insertBefore(row, Array.from(list.children).find(isOlder) ?? null)
}

/** @param {import('rx-statestore').Hlc | undefined} one @param {import('rx-statestore').Hlc} other */
const isNewer = (one, other) => one !== undefined && one.compareTo(other) > 0

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
  if (version !== undefined) versions.set(row, version)
  row.append(
    cell('when', version === undefined ? '' : timeOf(version.wallClock)),
    cell('what', `${name} `, cell('value', op === 'set' ? inWords(entry.value) : WITHOUT_VALUE[op])),
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
