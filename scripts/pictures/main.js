// Takes all pictures of the documents and of the site, `docs/pictures/*.png`, of the current pages, at two pixels a
// point: `npm run pictures`. Names after the command select pictures, such as `npm run pictures -- preview`. Requires
// Chromium, `npm run runtimes` for the picture of Node-RED, Prometheus for its picture, and for the trace Java and
// ZIPKIN_JAR with the path of Zipkin's server (io.zipkin:zipkin-server:3.5.1:slim in Maven Central).

import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { chromium } from 'playwright-core'
import { hasNodeRed } from '../node-red.js'
import { photographConsole } from './console.js'
import { photographMetrics } from './metrics.js'
import { photographNodeRed } from './node-red.js'
import { photographPreview } from './preview.js'
import { hasPrometheus, photographPrometheus } from './prometheus.js'
import { photographThermostat } from './thermostat.js'
import { hasZipkin, photographTrace } from './trace.js'

const FOLDER = new URL('../../docs/pictures/', import.meta.url).pathname
/** @type {Record<string, (browser: import('playwright-core').Browser, folder: string) => Promise<void>>} */
const PICTURES = {
  preview: photographPreview,
  thermostat: photographThermostat,
  console: photographConsole,
  metrics: photographMetrics,
  ...(hasNodeRed && { 'node-red': photographNodeRed }),
  ...(hasPrometheus && { prometheus: photographPrometheus }),
  ...(hasZipkin && { trace: photographTrace }),
}
const HEADLESS = '/usr/bin/chromium-headless-shell'
const selected = process.argv.slice(2)

await mkdir(FOLDER, { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? (existsSync(HEADLESS) ? HEADLESS : '/usr/bin/chromium'),
  chromiumSandbox: process.getuid?.() !== 0,
})
try {
  for (const [name, photograph] of Object.entries(PICTURES)) {
    if (selected.length > 0 && !selected.includes(name)) continue
    await photograph(browser, FOLDER)
    console.log(name)
  }
} finally {
  await browser.close()
}
