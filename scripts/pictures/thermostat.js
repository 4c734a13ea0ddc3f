import { connect } from 'rx-statestore'
import { filter, firstValueFrom } from 'rxjs'
import { keysOf } from '../../examples/thermostat/keys.js'
import { startRoom } from '../../examples/thermostat/room.js'
import { openSite } from '../../examples/thermostat/site.js'
import { OwnStore } from '../../examples/thermostat/store.js'

/** °C: half way up to what somebody has just asked for. */
const ASKED = 23.5
const REACHED = 22

/**
 * The thermostat while it heats. What it shows is the same every time but for the clock.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} path - of the PNG file
 */
export async function photographThermostat(browser, path) {
  const store = await OwnStore.start()
  const site = await openSite({ host: '127.0.0.1', port: 0, wsUrl: store.wsUrl })
  const room = startRoom(store.url)
  const somebody = connect(store.url)
  const { setPoint, temperature } = keysOf(somebody)
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.5 })
  await page.goto(`http://127.0.0.1:${site.port}/`)
  await page.getByText('all 5 keys are current').waitFor()
  await page.getByRole('slider', { name: 'Set point' }).press('PageUp')
  await page.getByRole('button', { name: 'Half a degree more' }).click()
  await firstValueFrom(setPoint.value$.pipe(filter(value => value === ASKED)))
  await firstValueFrom(temperature.value$.pipe(filter(value => value !== undefined && value >= REACHED)))
  await page.mouse.move(0, 0)
  await page.screenshot({ path })
  await page.close()
  await somebody.close()
  await room.stop()
  await site.close()
  await store.close()
}
