import { connect, set } from 'rx-statestore'
import {
  combineLatest,
  distinctUntilChanged,
  filter,
  map,
  merge,
  scan,
  share,
  startWith,
  timeInterval,
  timer,
  withLatestFrom,
} from 'rxjs'
import { humidityAt, later } from './climate.js'
import { historyOf, keysOf } from './keys.js'

/** ms between two readings, and readings between two points of the history. */
const TICK = 500
const TICKS_PER_POINT = 4
/** Five minutes of them. */
const POINTS = 150
/** The set point of a room without one. */
const SET_POINT = 21
/** @type {import('./keys.js').Mode} */
const MODE = 'boost'

/**
 * A room with a thermostat: it follows its set point and mode, and reports its sensors. It remembers both to work without
 * the store, and restores them in a store that has lost them.
 *
 * @param {string} url
 * @param {number} now - ms since the Unix epoch
 */
export function startRoom(url, now = Date.now()) {
  const store = connect(url, { clientId: 'room', reconnect: { initial: 50, max: 500 } })
  const { setPoint, mode, temperature, humidity, heating } = keysOf(store)
  const past = remembered(now)

  const wanted$ = combineLatest({ setPoint: lastOf(setPoint, SET_POINT), mode: lastOf(mode, MODE) })
  const climate$ = timer(0, TICK).pipe(
    timeInterval(),
    withLatestFrom(wanted$),
    scan(
      (climate, [{ interval: elapsed }, wanted]) => ({ ...later(climate, wanted, elapsed), ...wanted }),
      past.climate,
    ),
    share(),
  )
  const history$ = climate$.pipe(
    filter((_, index) => index % TICKS_PER_POINT === 0),
    scan((points, climate) => [...points, pointOf(Date.now(), climate)].slice(-POINTS), past.points),
    startWith(past.points),
    share(),
  )

  const running = merge(
    report(temperature, climate$.pipe(map(climate => rounded(climate.temperature, 2)))),
    report(humidity, climate$.pipe(map(climate => rounded(humidityAt(climate.temperature), 0)))),
    report(heating, climate$.pipe(map(climate => climate.heating))),
    report(historyOf(store), history$),
    giveBack(setPoint, SET_POINT),
    giveBack(mode, MODE),
  ).subscribe()
  return {
    stop: () => {
      running.unsubscribe()
      return store.close()
    },
  }
}

/**
 * What a sensor says, when it says something else, and to a store that has lost it. Without a connection only the latest
 * waits, and is given up in time: there will be a newer one.
 *
 * @template T
 * @param {import('rx-statestore').Key<T>} key
 * @param {import('rxjs').Observable<T>} readings$
 */
const report = (key, readings$) =>
  merge(
    readings$.pipe(distinctUntilChanged()),
    missing(key).pipe(
      withLatestFrom(readings$),
      map(([, reading]) => reading),
    ),
  ).pipe(set(key, { latest: true, timeout: 2_000, onError: 'emit' }))

/**
 * The last set point, even if the store has lost it.
 *
 * @template T
 * @param {import('rx-statestore').Key<T>} key
 * @param {T} initial
 */
const lastOf = (key, initial) =>
  key.value$.pipe(
    filter(value => value !== undefined),
    startWith(initial),
  )

/**
 * @template T
 * @param {import('rx-statestore').Key<T>} key
 * @param {T} initial
 */
const giveBack = (key, initial) =>
  missing(key).pipe(
    withLatestFrom(lastOf(key, initial)),
    map(([, last]) => last),
    set(key, { ifAbsent: true, onError: 'emit' }),
  )

/** @template T @param {import('rx-statestore').Key<T>} key */
const missing = key => key.entries$.pipe(filter(({ op }) => op === 'absent' || op === 'delete'))

/**
 * Five minutes that have passed already: the room was heated for the morning.
 *
 * @param {number} now
 */
function remembered(now) {
  const step = TICK * TICKS_PER_POINT
  /** @type {import('./climate.js').Climate & import('./climate.js').Wanted} */
  let climate = { temperature: 17.4, heating: false, setPoint: 18, mode: MODE }
  /** @type {import('./keys.js').Point[]} */
  const points = []
  for (let i = 0; i < POINTS; i++) {
    const wanted = { setPoint: i < POINTS / 3 ? 18 : SET_POINT, mode: climate.mode }
    for (let tick = 0; tick < TICKS_PER_POINT; tick++) climate = { ...later(climate, wanted, TICK), ...wanted }
    points.push(pointOf(now - (POINTS - i) * step, climate))
  }
  return { climate, points }
}

/**
 * @param {number} at
 * @param {import('./climate.js').Climate & import('./climate.js').Wanted} climate
 * @returns {import('./keys.js').Point}
 */
const pointOf = (at, { temperature, setPoint, heating }) => [at, rounded(temperature, 2), setPoint, heating ? 1 : 0]

/** @param {number} value @param {number} digits */
const rounded = (value, digits) => Number(value.toFixed(digits))
