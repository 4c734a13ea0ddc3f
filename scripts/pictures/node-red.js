import { join } from 'node:path'
import { connect, number } from 'rx-statestore'
import { serve } from 'rx-statestore/server'
import { exampleFlow, NodeRed } from '../node-red.js'

/**
 * Takes a picture of the running thermostat flow in the editor of Node-RED, with the help for a watch beside it.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG file
 */
export async function photographNodeRed(browser, folder) {
  const store = await serve({ port: 0, wsPort: 0 })
  const client = connect(store.url)
  const red = await NodeRed.start()
  try {
    const setPoint = client.key('thermostat/setPoint', number)
    await setPoint.set(21.5)
    await red.deploy(await exampleFlow('thermostat', store.url))
    const page = await browser.newPage({ viewport: { width: 1280, height: 640 }, deviceScaleFactor: 2 })
    await page.goto(red.url)
    await page.locator('#red-ui-workspace-chart').getByText('live').first().waitFor()
    await page.locator('[id="watch"] .red-ui-flow-node').click()
    await page.keyboard.press('Control+g')
    await page.keyboard.press('h')
    await page.locator('.red-ui-help').getByText('Sends a message for the value there is').waitFor()
    const palette = page.locator('#red-ui-palette')
    await palette.getByPlaceholder('filter nodes').pressSequentially('state')
    await palette.getByText('function', { exact: true }).first().waitFor({ state: 'hidden' })
    await setPoint.set(19)
    await page.locator('.red-ui-debug-msg').getByText('19', { exact: true }).waitFor()
    await page.mouse.move(0, 0)
    await page.screenshot({ path: join(folder, 'node-red.png') })
    await page.close()
  } finally {
    await red.stop()
    await client.close()
    await store.close()
  }
}
