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

/** Time between two readings, ms, and number of readings between two points of the history. */
const TICK = 500
const TICKS_PER_POINT = 4
/** Number of points in the history: five minutes. */
const POINTS = 150
/** The initial set point. */
const SET_POINT = 21
/** @type {import('./keys.js').Mode} */
const MODE = 'boost'

/**
 * Starts a room with a thermostat, which follows its set point and mode and reports its sensors. The room remembers set
 * point and mode, so that it works without the store, and restores them in a store that has lost them.
 *
 * @param {string} url
 * @param {number} now - ms since the Unix epoch
 */
export function startRoom(url, now = Date.now()) {
  const store = connect(url, { clientId: 'room', reconnect: { initial: 50, max: 500 } })
  const { setPoint, mode, temperature, humidity, heating } = keysOf(store)
  const past = pastMinutes(now)

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
    restore(setPoint, SET_POINT),
    restore(mode, MODE),
  ).subscribe()
  return {
    stop: () => {
      running.unsubscribe()
      return store.close()
    },
  }
}

/**
 * Writes the readings of a sensor, on every change and after the store has lost the value. Without a connection only
 * the latest reading waits, and times out after two seconds because newer readings follow.
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
 * Emits the last value of a key, even if the store has lost it.
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
const restore = (key, initial) =>
  missing(key).pipe(
    withLatestFrom(lastOf(key, initial)),
    map(([, last]) => last),
    set(key, { ifAbsent: true, onError: 'emit' }),
  )

/** @template T @param {import('rx-statestore').Key<T>} key */
const missing = key => key.entries$.pipe(filter(({ op }) => op === 'absent' || op === 'delete'))

/**
 * Returns the past five minutes of a room that was heated for the morning.
 *
 * @param {number} now
 */
function pastMinutes(now) {
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
