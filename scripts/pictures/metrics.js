import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, number } from 'rx-statestore'
import { openInThemes } from './themes.js'

const COMMAND = new URL('../../dist/cli/main.js', import.meta.url).pathname
const FAST_HOUR = new URL('./fast-hour.js', import.meta.url).href
const VIEWPORT = { width: 1280, height: 770 }
/** The time until the hour of the store has passed, and the page has polled the last samples, ms. */
const DELAY_MS = 75_000
const CLIENTS = 4

/**
 * Takes pictures of the metrics of a store with a directory, over an hour that passes in a minute.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG files
 */
export async function photographMetrics(browser, folder) {
  const data = await mkdtemp(join(tmpdir(), 'rx-statestore-picture-'))
  const flags = ['serve', '--json', '--port', '0', '--ws-port', '0', '--console', '0', '--data', data]
  const serving = spawn(process.execPath, ['--import', FAST_HOUR, COMMAND, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(serving.stdout, 'data')
  const { url, console: link } = JSON.parse(String(line))
  const stopWriting = startWriting(url)
  await new Promise(resolve => setTimeout(resolve, DELAY_MS))
  const pages = await openInThemes(browser, link, VIEWPORT)
  await pages.each(page => page.getByRole('link', { name: 'Metrics' }).click())
  await pages.each(page => page.getByRole('region', { name: 'Disk flush' }).waitFor())
  await pages.each(page => page.getByText(/up (59m|1h)/).waitFor())
  await pages.shoot(join(folder, 'metrics'))
  await pages.close()
  await stopWriting()
  serving.kill('SIGTERM')
  await once(serving, 'exit')
  await rm(data, { recursive: true })
}

/**
 * Starts clients whose load rises and falls over the minute.
 *
 * @param {string} url
 */
function startWriting(url) {
  let isStopped = false
  const start = performance.now()
  const writing = Array.from({ length: CLIENTS }, async (_, i) => {
    const client = connect(url, { clientId: `line-${i + 1}` })
    const keys = Array.from({ length: 12 }, (__, n) => client.key(`line-${i + 1}/sensor-${n}`, number))
    for (let n = 0; !isStopped; n++) {
      const seconds = (performance.now() - start) / 1_000
      const busy = keys.slice(0, 4 + Math.round(3 * Math.sin(seconds / 6) + 4 * Math.max(0, Math.sin(seconds / 17))))
      await Promise.all(busy.map(key => key.set(n)))
      await new Promise(resolve => setTimeout(resolve, 12))
    }
    await client.close()
  })
  return async () => {
    isStopped = true
    await Promise.all(writing)
  }
}
