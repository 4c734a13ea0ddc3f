import { firstValueFrom, interval, mergeMap, tap } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { number } from '../../../src/client/index.js'
import { type ServeOptions, serve } from '../../../src/server/index.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'
import { SERVICES } from '../../support/services.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, serveConsoleOf } from './support/console.js'
import { countShifts, expectToFit, painted, takePictures } from './support/looks.js'
import { has, reads } from './support/waiting.js'

const PERIOD_MS = 10_000
const MINUTE_MS = 60_000

/** Opens a store and its console, whose history has 20 minutes. The console's clock then runs in real time, with a write each second. */
async function startWithHistory(options: ServeOptions = {}) {
  const store = await serve({ port: 0, wsPort: 0, ...options })
  onTestFinished(async () => store.close())
  const clock = new ManualClock(Date.now())
  const server = await serveConsoleOf(store, { clock })
  const client = openClient(store.url)
  for (let period = 0; period < 120; period++) {
    for (let n = 0; n <= period % 4; n++) await firstValueFrom(client.key('k', number).set(n))
    clock.advance(PERIOD_MS)
  }
  const running = interval(1_000)
    .pipe(
      tap(() => clock.advance(1_000)),
      mergeMap(n => client.key('k', number).set(n)),
    )
    .subscribe()
  onTestFinished(() => running.unsubscribe())
  return { store, clock, server, running }
}

describeInBrowser('Metrics on the console', open => {
  it('the charts are filled when the page opens, with current values and their range', async () => {
    const { server } = await startWithHistory()
    const { page } = await open(server.link)
    await new ConsolePage(page).goTo('Metrics')
    const commands = page.getByRole('region', { name: 'Commands' })
    await reads(commands.locator('.metric-value'), /^[\d.]*[1-9]$/)
    await reads(commands.locator('.metric-range').first(), /^min 0\.1$/)
    const line = await commands.locator('.plot-line').getAttribute('d')
    expect(line?.split('L').length).toBeGreaterThanOrEqual(120)
    const titles = await page.locator('.metric h3').allInnerTexts()
    expect(titles).toEqual(['Commands', 'Request latency', 'Event-loop lag', 'Memory'])
    await reads(page.getByRole('region', { name: 'Memory' }), 'not ready above 95 %')
    await reads(
      page.getByRole('region', { name: 'Request latency' }).locator('.metric-value').first(),
      /^[\d.]+ (µs|ms)$/,
    )
  })

  it('a chart has a gap, with unknown values, while the process did not run', async () => {
    const { server, clock, running } = await startWithHistory()
    // The index of a time changes with each sample.
    running.unsubscribe()
    clock.jump(5 * MINUTE_MS)
    clock.advance(PERIOD_MS)
    const { page } = await open(server.link)
    await new ConsolePage(page).goTo('Metrics')
    const commands = page.getByRole('region', { name: 'Commands' })
    // Before the first sample, and while the process did not run.
    await expect.poll(() => commands.locator('.plot-gap').count()).toBe(2)
    const slider = commands.getByRole('slider')
    await slider.focus()
    await has(slider, 'aria-valuenow', '360')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toMatch(/^\d\d:\d\d:\d\d: unknown$/)
    await reads(commands.locator('.metric-value'), '–')
    await page.keyboard.press('PageDown')
    await page.keyboard.press('PageDown')
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toMatch(/: commands\/s 0\.\d$/)
  })

  it('all charts show the values of the time that the pointer or the keyboard selects', async () => {
    const { server, running } = await startWithHistory()
    running.unsubscribe()
    const { page } = await open(server.link)
    await new ConsolePage(page).goTo('Metrics')
    const times = page.locator('.metric-time')
    await expect.poll(() => times.allInnerTexts()).toEqual(['now', 'now', 'now', 'now'])
    const slider = page.getByRole('region', { name: 'Request latency' }).getByRole('slider')
    await painted(page)
    const { x = 0, y = 0, width = 0 } = (await slider.boundingBox()) ?? {}
    await page.mouse.move(x + width * 0.9, y + 20)
    // Chromium may round the place of the pointer, and a period is about a pixel wide.
    const index = async () => Number(await slider.getAttribute('aria-valuenow'))
    await expect.poll(async () => Math.abs((await index()) - 324)).toBeLessThan(2)
    await reads(times.first(), /^\d\d:\d\d:\d\d$/)
    expect(new Set(await times.allInnerTexts()).size).toBe(1)
    await page.mouse.move(0, 0)
    await reads(times.first(), 'now')

    await slider.focus()
    for (const [key, index] of [
      ['ArrowLeft', 359],
      ['PageDown', 329],
      ['ArrowRight', 330],
      ['PageUp', 360],
      ['End', 360],
      ['Home', 1],
      ['ArrowLeft', 1],
    ] as const) {
      await page.keyboard.press(key)
      await has(slider, 'aria-valuenow', String(index))
    }
    await page.keyboard.press('Shift+Tab')
    await reads(times.first(), /^\d/)
    await page.keyboard.press('Shift+Tab')
    await reads(times.first(), 'now')
  })

  it('the charts are accessible and fit every window, and do not shift while samples arrive', async () => {
    const { server, clock } = await startWithHistory()
    const { page } = await open(server.link, {
      beforeLoad: async opened => void (await opened.addInitScript(countShifts)),
    })
    await new ConsolePage(page).goTo('Metrics')
    const line = page.getByRole('region', { name: 'Commands' }).locator('.plot-line')
    await line.waitFor()
    const before = await line.getAttribute('d')
    await painted(page)
    await page.evaluate('shifted = 0')
    await page.getByRole('slider').first().focus()
    await page.keyboard.press('PageDown')
    clock.advance(PERIOD_MS)
    await expect.poll(() => line.getAttribute('d')).not.toBe(before)
    expect(await page.evaluate('shifted')).toBeLessThan(0.001)
    await expectAccessibleInBothThemes(page)
    for (const width of [390, 820, 1_440]) {
      await page.setViewportSize({ width, height: 900 })
      await expectToFit(page)
    }
    await takePictures(page, 'console-metrics', { whole: true })
  })

  it('current values are unknown while the server is unreachable, and the charts stay', async () => {
    const { server, store, running } = await startWithHistory()
    const { page } = await open(server.link, { allow: [/./] })
    const ui = new ConsolePage(page)
    await ui.goTo('Metrics')
    const commands = page.getByRole('region', { name: 'Commands' })
    await reads(commands.locator('.metric-value'), /^\d/)
    running.unsubscribe()
    await server.close()
    await store.close()
    await reads(ui.health, 'stale')
    await reads(commands.locator('.metric-value'), '–')
    expect(await commands.locator('.plot-line').getAttribute('d')).toMatch(/^M.*L/)
  })

  it.skipIf(!SERVICES.nats.present)('a node has charts of the lag, the nodes and the commits of its log', async () => {
    const nats = await NatsCluster.start(1)
    onTestFinished(async () => nats.stop())
    const log = (nodeId: string) => jetStreamLog({ servers: nats.servers, name: 'plant-1', nodeId, replicas: 1 })
    const south = await serve({ port: 0, wsPort: 0, log: log('south') })
    onTestFinished(async () => south.close())
    const { server } = await startWithHistory({ log: log('north') })
    const { page } = await open(server.link)
    await new ConsolePage(page).goTo('Metrics')
    const currentOf = (title: string) => page.getByRole('region', { name: title }).locator('.metric-value').first()
    await reads(currentOf('Nodes'), /^2$/)
    await reads(currentOf('Log lag'), /^\d+$/)
    await reads(currentOf('Log commit'), /(µs|ms)$/)
    await expectAccessibleInBothThemes(page)
  })
})
