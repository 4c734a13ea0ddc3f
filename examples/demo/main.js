// A thermostat follows its set point through a broken connection; then a write with an old fencing token is rejected.

import { connect, number, StateStoreError, text } from 'rx-statestore'
import { serve } from 'rx-statestore/server'
import { check, heading, say } from '../transcript.js'
import { until } from '../until.js'
import { layLink } from './link.js'
import { startThermostat } from './thermostat.js'

const server = await serve({ port: 0, wsPort: 0 })
say('store', `listens on ${server.url}`)
const link = await layLink(Number(new URL(server.url).port))
const panel = connect(server.url, { clientId: 'panel' })
const setPoint = panel.key('thermostat1/setPoint', number)
const temperature = panel.key('thermostat1/temperature', number)

/** @param {number} value */
async function turnTo(value) {
  const { version } = await setPoint.set(value)
  say('panel', `turns the set point to ${value}`, { version })
}

heading('1. A thermostat follows its set point')
const thermostat = startThermostat(link.url)
await until(thermostat.setPoint.freshness$, ({ state }) => state === 'live')
await turnTo(21)
await until(thermostat.setPoint.value$, value => value === 21)
const warm = await until(temperature.entries$, ({ value }) => value !== undefined && value > 20)
say('panel', `sees a room of ${warm.value} degrees`, warm)

heading('2. The cable is cut, and the panel writes twice')
link.cut()
say('link', 'cut')
await until(thermostat.setPoint.freshness$, ({ state }) => state === 'stale')
await turnTo(18)
await turnTo(24)

heading('3. The cable is whole again')
link.restore()
say('link', 'restored')
const resynced = await until(thermostat.setPoint.entries$, ({ value }) => value === 24)
const hot = await until(temperature.entries$, ({ value }) => value !== undefined && value > 23)
say('panel', `sees a room of ${hot.value} degrees`, hot)
check('the thermostat converged to the last set point, by its resync', resynced.source, 'resync')
check('the set point in the middle was not replayed', thermostat.followed, [21, 24])

heading('4. Two controllers, one fencing token')
const lock = panel.key('thermostat1/lock', text)
const valve = panel.key('thermostat1/valve', text)
const first = await lock.set('controller-a', { ifAbsentOrEqual: true, expiresIn: 60_000 })
say('panel', 'controller-a takes the lock', first)
await lock.deleteIf('controller-a')
const second = await lock.set('controller-b', { ifAbsentOrEqual: true, expiresIn: 60_000 })
say('panel', 'controller-a lets go, controller-b takes the lock', second)
if (first.version === undefined || second.version === undefined) throw new Error('the lock has no version')
const opened = await valve.set('open', { fencingToken: second.version })
say('panel', 'controller-b opens the valve with its token', opened)
const refusal = await valve.set('shut', { fencingToken: first.version }).then(
  () => 'accepted',
  error => (error instanceof StateStoreError ? error.code : String(error)),
)
say('standby', `controller-a writes with its old token: ${refusal}`)
check('a write with an old fencing token is refused', refusal, 'fencing-token-stale')
check('the valve is still open', (await valve.get()).value, 'open')

await thermostat.stop()
await panel.close()
await link.close()
await server.close()
heading('Done: every claim was checked.')
