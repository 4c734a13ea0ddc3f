import type { Page, WebSocketRoute } from 'playwright-core'
import { expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, type RunningConsole, startConsole } from './support/console.js'
import { NO_SERVER, NO_SOCKET } from './support/guard.js'
import { takePictures } from './support/looks.js'
import { reads, recordTexts } from './support/waiting.js'

const SEED = [
  { key: 'line-1/speed', value: '12' },
  { key: 'recipe', value: '{"flour":1000}' },
]
const ALLOW = [NO_SERVER, NO_SOCKET]
const HOUR_MS = 3_600_000

/** The files that the page loads when it is idle. */
const LATER = /assets\/(more|chart)-.*\.js$/

async function stop({ store, server }: RunningConsole): Promise<void> {
  await server.close()
  await store.close()
}

/** Opens the page, and resolves when all of its code is loaded. */
async function loaded(page: Page): Promise<ConsolePage> {
  const ui = new ConsolePage(page)
  await reads(ui.cell('line-1/speed', 'value'), '12')
  await expect
    .poll(() =>
      page.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .map(({ name }) => name)
          .join(),
      ),
    )
    .toMatch(/chart-/)
  return ui
}

describeInBrowser('The console while the store is unreachable', open => {
  it('an idle page has all of its views, which open even after the store has stopped', async () => {
    const running = await startConsole(SEED)
    const { page } = await open(running.server.link, { allow: ALLOW, reducedMotion: true })
    const ui = await loaded(page)
    await stop(running)
    await reads(ui.health, 'stale')
    await ui.open('line-1/speed')
    // The key was never read, so only the health of the page knows since when it is stale.
    await reads(ui.detail, /Stale\s*for/)
    await ui.detail.locator('canvas').waitFor()
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-stale-detail')
    await ui.press('Close')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-stale-keys')
    await ui.search.fill('recipe')
    await reads(page.locator('#found'), 'Search waits for the store *recipe*')
    await expectAccessibleInBothThemes(page)
    await ui.search.fill('')
    await reads(page.locator('#found'), '2 keys')
    // Rates and counts are unknown, which differs from zero.
    expect(await page.locator('.rate-now').allInnerTexts()).toEqual(['–', '–', '–'])
    expect(await page.locator('.nav-amount').allInnerTexts()).toEqual(['–', '–'])
    await ui.goTo('Clients')
    // The store closes all connections before it stops, which the page may still receive.
    await reads(page.locator('.page-head'), /Last known clients|Waiting for the store/)
    await expectAccessibleInBothThemes(page)
    await ui.goTo('Store')
    await reads(page.locator('.card').filter({ hasText: 'Dump' }), '– in the store.')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-stale-store', { whole: true })
  })

  it('a view whose code cannot be loaded reports that, and loads when the store responds', async () => {
    const { store, server } = await startConsole(SEED)
    let blocked = true
    const { page } = await open(server.link, {
      allow: ALLOW,
      beforeLoad: async opened => {
        await opened.route(LATER, route => (blocked ? route.abort('failed') : route.continue()))
      },
    })
    const ui = new ConsolePage(page)
    await ui.row('recipe').click()
    await reads(page.getByRole('alert'), 'View not loaded')
    await expectAccessibleInBothThemes(page)
    store.freeze(600_000)
    await reads(page.getByRole('alert'), 'Store unreachable')
    await expectAccessibleInBothThemes(page)
    store.freeze(0)
    await reads(page.getByRole('alert'), 'View not loaded')
    await page.keyboard.press('n')
    await expect.poll(() => page.getByRole('alert').count()).toBe(2)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('alert').count()).toBe(1)
    blocked = false
    await ui.press('Retry')
    await reads(ui.detail, '"flour": 1000')
    // The styles come with the code.
    expect(await ui.detail.locator('.value-block').evaluate(block => getComputedStyle(block).maxHeight)).toBe('300px')
  })

  it('a dialog says at once that the store is unreachable, and Cancel ends its write', async () => {
    const running = await startConsole(SEED)
    const { page } = await open(running.server.link, { allow: ALLOW, reducedMotion: true })
    const ui = await loaded(page)
    await stop(running)
    await reads(ui.health, 'stale')
    await page.keyboard.press('n')
    await ui.fill({ Key: 'new', Value: '1' })
    const shown = await recordTexts(ui.dialog)
    await ui.decide('Set')
    await reads(ui.dialog.getByRole('button', { name: 'Saving…' }), 'Saving…')
    const waiting = (await shown()).filter(text => text.includes('Waiting…'))
    expect(waiting[0]).toMatch(/Store unreachable\.Waiting… 10 s/)
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-waiting')
    await ui.decide('Cancel')
    await ui.dialog.waitFor({ state: 'detached' })
  })

  it('a write that is cancelled before the store returns is not sent', async () => {
    const { store, server } = await startConsole(SEED)
    const sockets: WebSocketRoute[] = []
    let isDown = false
    const { page } = await open(server.link, {
      allow: ALLOW,
      beforeLoad: opened =>
        opened.routeWebSocket(/.*/, socket => {
          if (isDown) return void socket.close()
          socket.connectToServer()
          sockets.push(socket)
        }),
    })
    const ui = await loaded(page)
    isDown = true
    for (const socket of sockets) await socket.close()
    await reads(ui.health, 'stale')
    await page.keyboard.press('n')
    await ui.fill({ Key: 'cancelled', Value: '1' })
    await ui.decide('Set')
    await reads(ui.dialog, 'Store unreachable.')
    await ui.decide('Cancel')
    await ui.dialog.waitFor({ state: 'detached' })
    isDown = false
    await reads(ui.health, 'live')
    await page.keyboard.press('n')
    await ui.fill({ Key: 'written', Value: '1' })
    await ui.decide('Set')
    await ui.showed('Set written')
    expect(store.peek('cancelled')).toBeUndefined()
    expect(await ui.toasts.innerText()).not.toContain('Cancelled')
  })

  it('a write sent when the store returned may be applied although it is unreachable again', async () => {
    const { server } = await startConsole(SEED)
    const sockets: WebSocketRoute[] = []
    let isDown = false
    const requests: Buffer[] = []
    const { page } = await open(server.link, {
      allow: ALLOW,
      beforeLoad: opened =>
        opened.routeWebSocket(/.*/, socket => {
          if (isDown) return void socket.close()
          const broker = socket.connectToServer()
          socket.onMessage(message => {
            const bytes = Buffer.from(message)
            requests.push(bytes)
            // The store does not receive the write.
            if (!bytes.includes('resent')) broker.send(message)
          })
          sockets.push(socket)
        }),
    })
    const ui = await loaded(page)
    const disconnect = async (): Promise<void> => {
      isDown = true
      for (const socket of sockets) await socket.close()
      await reads(ui.health, 'stale')
    }
    await disconnect()
    await page.keyboard.press('n')
    await ui.fill({ Key: 'resent', Value: '1' })
    await ui.decide('Set')
    await reads(ui.dialog, 'Store unreachable.')
    isDown = false
    await expect.poll(() => requests.some(bytes => bytes.includes('resent'))).toBe(true)
    await disconnect()
    await ui.decide('Cancel')
    await ui.showed('The store may still apply this write.')
  })

  it('the page names the address of a broker that it has never reached', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link, {
      allow: ALLOW,
      beforeLoad: opened => opened.routeWebSocket(/.*/, socket => void socket.close()),
    })
    await reads(page.getByRole('main'), `This browser connects to ${store.wsUrl}, which must be reachable from here.`)
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-connecting')
  })

  it('the open key is frozen with its store, and a cancelled write may still be applied', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link, { allow: ALLOW })
    const ui = await loaded(page)
    store.freeze(600_000)
    await reads(ui.health, 'frozen')
    await ui.open('line-1/speed')
    await reads(ui.detail.locator('.fact').filter({ hasText: 'Freshness' }), 'frozen')
    const value = ui.detail.locator('.detail-number')
    await expect.poll(() => value.evaluate(number => getComputedStyle(number).filter)).toBe('grayscale(1)')
    await expectAccessibleInBothThemes(page)
    await page.keyboard.press('n')
    await ui.fill({ Key: 'sent', Value: '1' })
    await ui.decide('Set')
    await reads(ui.dialog, /Store frozen\.\s*Waiting… \d+ s/)
    await ui.decide('Cancel')
    await ui.dialog.waitFor({ state: 'detached' })
    await ui.showed('The store may still apply this write.')
    store.freeze(0)
    await reads(ui.cell('sent', 'value'), '1')
  })

  it('an expired key is shown as expired', async () => {
    const clock = new ManualClock(Date.now())
    const { store, server } = await startConsole(SEED, { clock })
    const { page } = await open(server.link)
    const ui = await loaded(page)
    await openClient(store.url).key('short', text).set('x', { expiresIn: HOUR_MS })
    await ui.open('short')
    await reads(ui.detail.locator('.fact').filter({ hasText: 'Expires' }), /in \d/)
    clock.advance(HOUR_MS)
    await reads(ui.detail, 'The key has expired.')
    await reads(ui.detail.locator('.history-list'), 'expired')
  })
})
