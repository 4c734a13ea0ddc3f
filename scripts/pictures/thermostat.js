import { connect } from 'rx-statestore'
import { filter, firstValueFrom } from 'rxjs'
import { keysOf } from '../../examples/thermostat/keys.js'
import { startRoom } from '../../examples/thermostat/room.js'
import { openSite } from '../../examples/thermostat/site.js'
import { OwnStore } from '../../examples/thermostat/store.js'

/** The picture is taken at this set point, once the temperature has reached this minimum, °C. */
const SET_POINT = 23.5
const MIN_TEMPERATURE = 22

/**
 * Takes a picture of the thermostat while it heats. The picture is the same every time except for the clock.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} path - where to write the PNG file
 */
export async function photographThermostat(browser, path) {
  const store = await OwnStore.start()
  const site = await openSite({ host: '127.0.0.1', port: 0, wsUrl: store.wsUrl })
  const room = startRoom(store.url)
  const client = connect(store.url)
  const { setPoint, temperature } = keysOf(client)
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.5 })
  await page.goto(`http://127.0.0.1:${site.port}/`)
  await page.getByText('all values are current').waitFor()
  await page.getByRole('slider', { name: 'Set point' }).press('PageUp')
  await page.getByRole('button', { name: 'Half a degree more' }).click()
  await firstValueFrom(setPoint.value$.pipe(filter(value => value === SET_POINT)))
  await firstValueFrom(temperature.value$.pipe(filter(value => value !== undefined && value >= MIN_TEMPERATURE)))
  await page.mouse.move(0, 0)
  await page.screenshot({ path })
  await page.close()
  await client.close()
  await room.stop()
  await site.close()
  await store.close()
}
