import type { Page, WebSocketRoute } from 'playwright-core'
import { expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, type RunningConsole, startConsole } from './support/console.js'
import { NO_SOCKET } from './support/guard.js'
import { SIZES, takePictures } from './support/looks.js'
import { reads } from './support/waiting.js'

const SEED = [
  { key: 'line-1/speed', value: '12' },
  { key: 'recipe', value: '{"flour":1000}' },
]
const REFUSED = /ERR_CONNECTION_REFUSED|ERR_FAILED|ERR_INCOMPLETE_CHUNKED_ENCODING/
const ALLOW = [NO_SOCKET, REFUSED]

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
  it('an idle page has all of its views, so that keys, dialogs and views open after the store has stopped', async () => {
    const running = await startConsole(SEED)
    const { page } = await open(running.server.link, { allow: ALLOW, reducedMotion: true })
    const ui = await loaded(page)
    await stop(running)
    await reads(ui.health, 'stale')
    await ui.open('line-1/speed')
    await reads(ui.detail, /stale\s*for/)
    await ui.detail.locator('canvas').waitFor()
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-stale-detail')
    await page.setViewportSize(SIZES.desktop)
    await ui.press('Close')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-stale-keys')
    await page.setViewportSize(SIZES.desktop)
    // Rates and counts are unknown, which differs from zero.
    expect(await page.locator('.rate-now').allInnerTexts()).toEqual(['–', '–', '–'])
    expect(await page.locator('.nav-amount').allInnerTexts()).toEqual(['–', '–'])
    await ui.goTo('Clients')
    await reads(page.locator('.page-head'), 'Last known clients')
    await expectAccessibleInBothThemes(page)
    await ui.goTo('Store')
    await reads(page.locator('.card').filter({ hasText: 'Dump' }), '– in the store.')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-stale-store', { whole: true })
  })

  it('a view whose code cannot be loaded says so, and loads when the store responds', async () => {
    const { server } = await startConsole(SEED)
    let blocked = true
    const { page } = await open(server.link, {
      allow: ALLOW,
      beforeLoad: async opened => {
        await opened.route(LATER, route => (blocked ? route.abort('failed') : route.continue()))
      },
    })
    const ui = new ConsolePage(page)
    await ui.row('recipe').click()
    await reads(page.getByRole('alert'), 'Store unreachable')
    await expectAccessibleInBothThemes(page)
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

  it('a dialog says at once that the store is unreachable and how long it waits, and Cancel ends the write', async () => {
    const running = await startConsole(SEED)
    const { page } = await open(running.server.link, { allow: ALLOW, reducedMotion: true })
    const ui = await loaded(page)
    await stop(running)
    await reads(ui.health, 'stale')
    await page.keyboard.press('n')
    await ui.fill({ Key: 'new', Value: '1' })
    await ui.decide('Set')
    await reads(ui.dialog, /Store unreachable\.\s*Waiting… (10|9|8|7) s/)
    await reads(ui.dialog.getByRole('button', { name: 'Saving…' }), 'Saving…')
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
    await reads(ui.toasts, 'Set written')
    expect(store.peek('cancelled')).toBeUndefined()
    expect(await ui.toasts.innerText()).not.toContain('Cancelled')
  })

  it('a frozen store is named in the dialog, and a cancelled write may still be applied', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link, { allow: ALLOW })
    const ui = await loaded(page)
    store.freeze(600_000)
    await reads(ui.health, 'frozen')
    await page.keyboard.press('n')
    await ui.fill({ Key: 'sent', Value: '1' })
    await ui.decide('Set')
    await reads(ui.dialog, /Store frozen\.\s*Waiting… \d+ s/)
    await ui.decide('Cancel')
    await ui.dialog.waitFor({ state: 'detached' })
    await reads(ui.toasts, 'The store may still apply this write.')
    store.freeze(0)
    await reads(ui.cell('sent', 'value'), '1')
  })

  it('an expired key is shown as expired', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = await loaded(page)
    await openClient(store.url).key('short', text).set('x', { expiresIn: 3_000 })
    await ui.open('short')
    await reads(ui.detail, 'The key has expired.')
    await reads(ui.detail.locator('.history-list'), 'expired')
  })
})
