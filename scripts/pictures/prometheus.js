import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, number } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { startConfiguredStore } from './store-process.js'

const RULES = new URL('../../deploy/prometheus/rules.yaml', import.meta.url).pathname
const VIEWPORT = { width: 1140, height: 600 }
const PORT = 19_090
const QUERY = 'sum by (command) (rate(rx_statestore_requests_total{outcome!="rejected"}[10s]))'
/** The number of clients, which are added one after the other at this interval, ms. */
const CLIENTS = 6
const CLIENT_INTERVAL_MS = 15_000

/** Whether Prometheus is installed. */
export const hasPrometheus = spawnSync('prometheus', ['--version'], { stdio: 'ignore' }).status === 0

/**
 * Takes a picture of Prometheus beside a store, while clients write and read as fast as the store responds.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG file
 */
export async function photographPrometheus(browser, folder) {
  const store = await startConfiguredStore()
  const own = await mkdtemp(join(tmpdir(), 'rx-statestore-prometheus-'))
  const targets = `[{ targets: ['${new URL(store.metrics).host}'] }]`
  const config = [
    'global: { scrape_interval: 1s, evaluation_interval: 1s }',
    `rule_files: [${JSON.stringify(RULES)}]`,
    `scrape_configs: [{ job_name: rx-statestore, static_configs: ${targets} }]`,
  ]
  await writeFile(join(own, 'prometheus.yml'), config.join('\n'))
  const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${PORT}`]
  const prometheus = spawn('prometheus', flags, { cwd: own, stdio: 'ignore' })
  let isRunning = true
  const clients = Array.from({ length: CLIENTS }, (_, at) => connect(store.url, { clientId: `hall-${at}` }))
  const work = clients.map(async (client, at) => {
    await new Promise(resolve => setTimeout(resolve, at * CLIENT_INTERVAL_MS))
    const temperature = client.key(`hall-${at}/temperature`, number)
    for (let n = 0; isRunning; n++) {
      await firstValueFrom(temperature.set(n))
      if (n % 3 === 0) await firstValueFrom(temperature.get())
      if (n % 20 === 0) await firstValueFrom(temperature.delete())
    }
  })
  await new Promise(resolve => setTimeout(resolve, (CLIENTS + 1) * CLIENT_INTERVAL_MS))
  const page = await browser.newPage({ viewport: VIEWPORT, deviceScaleFactor: 2 })
  const graph = new URLSearchParams({ 'g0.expr': QUERY, 'g0.tab': '0', 'g0.range_input': '2m' })
  await page.goto(`http://127.0.0.1:${PORT}/graph?${graph}`, { waitUntil: 'networkidle' })
  await page.locator('body').click({ position: { x: 1, y: 1 } })
  await page.screenshot({ path: join(folder, 'prometheus.png'), fullPage: true })
  await page.close()
  isRunning = false
  await Promise.all(work)
  await Promise.all(clients.map(client => client.close()))
  prometheus.kill()
  await once(prometheus, 'exit')
  await rm(own, { recursive: true })
  await store.stop()
}
