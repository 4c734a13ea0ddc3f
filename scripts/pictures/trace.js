import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startCommand, startConfiguredStore } from './store-process.js'

const VIEWPORT = { width: 1200, height: 440 }
const ZIPKIN_PORT = 19_411
const ZIPKIN_URL = `http://127.0.0.1:${ZIPKIN_PORT}`
const KEY = 'thermostat1/setPoint'
const THERMOSTAT = new URL('traced-thermostat.js', import.meta.url).pathname
const TRACING = ['--import', new URL('tracing.js', import.meta.url).pathname]
/** The file of Zipkin's server, `zipkin-server-3.5.1-slim.jar`. */
const JAR = process.env['ZIPKIN_JAR']

export const hasZipkin = JAR !== undefined

/** @param {string} name - the name of the service in the trace */
const environmentOf = name => ({ env: { ...process.env, OTEL_SERVICE_NAME: name, ZIPKIN_URL } })

/**
 * Takes a picture of the trace of one `set` at a store with a directory, of which another client is notified. All three
 * are separate processes.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG file
 */
export async function photographTrace(browser, folder) {
  const java = ['-jar', JAR ?? '', `--server.port=${ZIPKIN_PORT}`]
  const zipkin = spawn('java', java, { stdio: ['ignore', 'ignore', 'pipe'] })
  await nextLine(zipkin.stderr, /Serving HTTP/)
  const store = await startConfiguredStore(environmentOf('store'), TRACING)
  const panel = startCommand(['watch', KEY, '--url', store.url], environmentOf('panel'), TRACING)
  await nextLine(panel.stdout, /./)
  const thermostat = spawn(process.execPath, [...TRACING, THERMOSTAT, store.url, KEY], environmentOf('thermostat'))
  await once(thermostat, 'exit')
  const trace = await findTrace()
  const page = await browser.newPage({ viewport: VIEWPORT, deviceScaleFactor: 2 })
  await page.goto(`${ZIPKIN_URL}/zipkin/traces/${trace}`)
  await page.getByText('panel: notify').waitFor()
  await page.getByText('store: set').click()
  await page.getByText('db.system.name').scrollIntoViewIfNeeded()
  await page.mouse.move(0, 0)
  await page.screenshot({ path: join(folder, 'trace.png'), animations: 'disabled' })
  await page.close()
  panel.kill('SIGTERM')
  await store.stop()
  zipkin.kill()
}

/**
 * Resolves with the first line that matches.
 *
 * @param {import('node:stream').Readable | null} output
 * @param {RegExp} pattern
 */
async function nextLine(output, pattern) {
  if (output === null) throw new Error('the process has no output')
  for await (const line of createInterface({ input: output })) if (pattern.test(line)) return line
  throw new Error(`the process has ended without ${pattern}`)
}

/** Resolves with the id of the last complete trace of a `set`. @returns {Promise<string>} */
async function findTrace() {
  for (;;) {
    const response = await fetch(`${ZIPKIN_URL}/api/v2/traces?serviceName=thermostat&limit=9`)
    /** @type {{ traceId: string, name: string, timestamp: number }[][]} */
    const traces = await response.json()
    const complete = traces.filter(spans => spans.length === 4).flat()
    const [last] = complete.sort((a, b) => b.timestamp - a.timestamp)
    if (complete.length === 8 && last !== undefined) return last.traceId
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
