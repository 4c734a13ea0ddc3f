import { join } from 'node:path'
import { connect } from 'rx-statestore'
import { filter, firstValueFrom } from 'rxjs'
import { keysOf } from '../../examples/thermostat/keys.js'
import { startRoom } from '../../examples/thermostat/room.js'
import { openSite } from '../../examples/thermostat/site.js'
import { OwnStore } from '../../examples/thermostat/store.js'
import { openInThemes } from './themes.js'

const VIEWPORT = { width: 1200, height: 760 }
/** The picture is taken at this set point, once the temperature has reached this minimum, °C. */
const SET_POINT = 23.5
const MIN_TEMPERATURE = 22
/** Time between the cut of the cable and the picture, ms, during which the chart shows no values. */
const OUTAGE_MS = 15_000

/**
 * Takes pictures of the thermostat while its cable is cut and a new set point waits for the connection.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG files
 */
export async function photographThermostat(browser, folder) {
  const store = await OwnStore.start()
  const site = await openSite({ host: '127.0.0.1', port: 0, wsUrl: store.wsUrl })
  const room = startRoom(store.url)
  const client = connect(store.url)
  const { setPoint, temperature } = keysOf(client)
  const pages = await openInThemes(browser, `http://127.0.0.1:${site.port}/`, VIEWPORT)
  await pages.each(page => page.getByText('all values are current').waitFor())
  await setPoint.set(SET_POINT)
  await firstValueFrom(setPoint.value$.pipe(filter(value => value === SET_POINT)))
  await firstValueFrom(temperature.value$.pipe(filter(value => value !== undefined && value >= MIN_TEMPERATURE)))
  site.cable.cut()
  await new Promise(resolve => setTimeout(resolve, OUTAGE_MS))
  await pages.each(page => page.getByRole('button', { name: 'Half a degree more' }).click())
  await pages.each(page => page.getByText('Waiting for the connection').waitFor())
  await pages.shoot(join(folder, 'thermostat'))
  await pages.close()
  await client.close()
  await room.stop()
  await site.close()
  await store.close()
}
