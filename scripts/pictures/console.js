import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SEED, startPlant } from './plant.js'
import { openInThemes } from './themes.js'

const COMMAND = new URL('../../dist/cli/main.js', import.meta.url).pathname
const VIEWPORT = { width: 1200, height: 720 }
/** The picture of an outage has a height of 400 px in the column of a README. */
const OUTAGE_VIEWPORT = { width: 1200, height: 540 }
/** Time to wait before the picture, ms. The marbles of a key show the changes of the last minute. */
const DELAY_MS = 45_000
/** Time between the end of the store and the picture of the outage, ms. */
const OUTAGE_MS = 5_000

/**
 * Takes pictures of the console of a running plant with a key open, and of the same console after its store has stopped.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG files
 */
export async function photographConsole(browser, folder) {
  const seed = await mkdtemp(join(tmpdir(), 'rx-statestore-picture-'))
  await writeFile(join(seed, 'keys.json'), JSON.stringify(SEED))
  const flags = [
    'serve',
    '--json',
    '--port',
    '0',
    '--ws-port',
    '0',
    '--console',
    '0',
    '--seed',
    join(seed, 'keys.json'),
  ]
  const serving = spawn(process.execPath, [COMMAND, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(serving.stdout, 'data')
  const { url, console: link } = JSON.parse(String(line))
  const plant = await startPlant(url)
  const pages = await openInThemes(browser, link, VIEWPORT)
  await pages.each(page =>
    page
      .getByRole('row')
      .filter({ has: page.getByTitle('hall2\\temperature', { exact: true }) })
      .click(),
  )
  await new Promise(resolve => setTimeout(resolve, DELAY_MS))
  await pages.shoot(join(folder, 'console'))
  serving.kill('SIGKILL')
  await once(serving, 'exit')
  await new Promise(resolve => setTimeout(resolve, OUTAGE_MS))
  await pages.each(page => page.setViewportSize(OUTAGE_VIEWPORT))
  await pages.shoot(join(folder, 'reconnect'))
  await pages.close()
  await plant.stop()
  await rm(seed, { recursive: true })
}
