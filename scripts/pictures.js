// Takes the pictures of the README, `docs/pictures/*.png`, of the current pages. Requires Chromium, and `npm run
// runtimes` for the picture of Node-RED.

import { mkdir } from 'node:fs/promises'
import { chromium } from 'playwright-core'
import { hasNodeRed } from './node-red.js'
import { photographConsole } from './pictures/console.js'
import { photographNodeRed } from './pictures/node-red.js'
import { photographThermostat } from './pictures/thermostat.js'

const FOLDER = new URL('../docs/pictures/', import.meta.url).pathname
/** @type {Record<string, (browser: import('playwright-core').Browser, path: string) => Promise<void>>} */
const PICTURES = {
  'thermostat.png': photographThermostat,
  'console.png': (browser, path) => photographConsole(browser, path, 'light'),
  'console-dark.png': (browser, path) => photographConsole(browser, path, 'dark'),
  ...(hasNodeRed && { 'node-red.png': photographNodeRed }),
}

await mkdir(FOLDER, { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  chromiumSandbox: process.getuid?.() !== 0,
})
try {
  for (const [name, photograph] of Object.entries(PICTURES)) {
    await photograph(browser, `${FOLDER}${name}`)
    console.log(`docs/pictures/${name}`)
  }
} finally {
  await browser.close()
}
