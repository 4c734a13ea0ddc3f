import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SEED, startPlant } from './plant.js'

const COMMAND = new URL('../../dist/cli/main.js', import.meta.url).pathname
/** Time to wait before the picture, ms. The marbles of a key show the changes of the last minute. */
const DELAY_MS = 45_000

/**
 * Takes a picture of the console of a running plant, with a key open.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} path - where to write the PNG file
 * @param {'light' | 'dark'} colorScheme
 */
export async function photographConsole(browser, path, colorScheme) {
  const folder = await mkdtemp(join(tmpdir(), 'rx-statestore-picture-'))
  await writeFile(join(folder, 'keys.json'), JSON.stringify(SEED))
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
    join(folder, 'keys.json'),
  ]
  const serving = spawn(process.execPath, [COMMAND, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(serving.stdout, 'data')
  const { url, console: link } = JSON.parse(String(line))
  const plant = await startPlant(url)
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.5, colorScheme })
  await page.goto(link)
  const key = page.getByRole('row').filter({ has: page.getByTitle('hall2\\temperature', { exact: true }) })
  await key.click()
  await page.waitForTimeout(DELAY_MS)
  await page.mouse.move(0, 0)
  await page.screenshot({ path })
  await page.close()
  await plant.stop()
  serving.kill('SIGINT')
  await once(serving, 'exit')
  await rm(folder, { recursive: true })
}
