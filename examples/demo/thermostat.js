import { connect, number, set } from 'rx-statestore'
import { combineLatest, interval, scan, startWith } from 'rxjs'
import { say } from '../transcript.js'

/**
 * Starts a thermostat that follows its set point and reports the temperature of a simulated room.
 *
 * @param {string | readonly string[]} url - URL of the store, or URLs of several nodes
 */
export function startThermostat(url) {
  const store = connect(url, { clientId: 'thermostat1', reconnect: { initial: 50, max: 200 } })
  const setPoint = store.key('thermostat1/setPoint', number)
  const temperature = store.key('thermostat1/temperature', number)
  /** @type {number[]} */
  const followed = []

  setPoint.entries$.subscribe(entry => {
    if (entry.op === 'set') followed.push(entry.value)
    say('thermostat', `set point is ${entry.value ?? 'not there yet'}`, entry)
  })
  setPoint.freshness$.subscribe(({ state }) => say('thermostat', `its set point is ${state}`))

  // The room warms up or cools down towards the set point, and `latest` prevents a queue of outdated readings.
  const room$ = combineLatest([setPoint.value$.pipe(startWith(undefined)), interval(40)]).pipe(
    scan((now, [target]) => (target === undefined ? now : Math.round((now + (target - now) * 0.2) * 10) / 10), 17),
  )
  const heating = room$.pipe(set(temperature, { latest: true, timeout: 2_000, onError: 'emit' })).subscribe()

  return {
    followed,
    setPoint,
    stop: () => {
      heating.unsubscribe()
      return store.close()
    },
  }
}
