import { gzipSync } from 'node:zlib'
import type { Page, Response } from 'playwright-core'
import { firstValueFrom, interval, mergeMap } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import budgets from '../../../bench/budgets.json' with { type: 'json' }
import { json, number, text } from '../../../src/client/index.js'
import type { StoreServer } from '../../../src/server/index.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { countShifts, painted, SIZES, takePictures } from './support/looks.js'
import { has, reads } from './support/waiting.js'

const LETTER = 'Maintenance on Saturday from 06:00 to 09:00; lines 3 and 4 will stand still. '
const LONG_KEY = `a/very/long/${'key/'.repeat(30)}end`
const SEED = [
  ...[1, 2, 3].map(n => ({ key: `thermostat${n}\\setPoint`, value: String(19 + n / 2) })),
  ...[1, 2].map(n => ({ key: `line-${n}/state`, value: n === 1 ? 'running' : 'fault: E-217 door open' })),
  { key: LONG_KEY, value: LETTER.repeat(20) },
  { key: 'recipe/baguette', value: '{"flour":1000,"water":680,"steps":["mix","rest","bake"],"vegan":true}' },
  { keyBytes: '/wCKFw==', bytes: Buffer.from(Array.from({ length: 48 }, (_, i) => i * 5)).toString('base64') },
  { key: 'empty', value: '' },
]

/** Opens a client that writes during the test. */
async function busy(store: StoreServer): Promise<void> {
  const client = openClient(store.url, { clientId: 'plant-simulator' })
  const lock = await firstValueFrom(client.key('line-1/lock', text).set('gateway', { expiresIn: 3_600_000 }))
  await firstValueFrom(client.key('line-1/speed', number).set(12, { fencingToken: String(lock.version) }))
  await firstValueFrom(client.key('session/1', json()).set({ user: 'ann' }, { expiresIn: 95_000 }))
  const temperature = client.key('thermostat1\\temperature', number)
  // Writes to a frozen store wait until the end of the test.
  const work = interval(150).pipe(
    mergeMap(i => temperature.set(20 + Math.round(10 * Math.sin(i / 5)) / 10, { timeout: 600_000 })),
  )
  const working = work.subscribe()
  onTestFinished(() => working.unsubscribe())
}

describeInBrowser('The looks of the console', open => {
  it('the keys view is accessible', async () => {
    const { store, server } = await startConsole(SEED)
    await busy(store)
    const { page } = await open(server.link, { reducedMotion: true })
    const ui = new ConsolePage(page)
    await ui
      .cell('line-1/speed', 'key')
      .getByTitle(/^Fencing/)
      .waitFor()
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-keys')
    await page.keyboard.press('t')
    await ui.branch('line-1/').click()
    await ui.row('line-1/state').waitFor()
    await expectAccessibleInBothThemes(page)
    await page.keyboard.press('t')
    await ui.open('thermostat1\\temperature')
    await ui.detail.locator('canvas').waitFor()
    await expect.poll(() => ui.detail.getByRole('listitem').count()).toBeGreaterThan(12)
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-detail')
    await ui.open('recipe/baguette')
    await expectAccessibleInBothThemes(page)
    await ui.open('0xFF008A17')
    await expectAccessibleInBothThemes(page)
    // A long key scrolls in its heading, which must be reachable by keyboard.
    await page.setViewportSize(SIZES.phone)
    await page.goto(new URL(`#/keys/${Buffer.from(LONG_KEY).toString('hex').toUpperCase()}`, page.url()).href)
    await reads(ui.detail.getByRole('heading', { level: 2 }), 'a/very/long/')
    await expectAccessibleInBothThemes(page)
  })

  it('the clients view and the store view are accessible', async () => {
    const { store, server } = await startConsole(SEED)
    await busy(store)
    const { page } = await open(server.link, { reducedMotion: true })
    const ui = new ConsolePage(page)
    await ui.goTo('Clients')
    await page.getByRole('button', { name: 'plant-simulator', exact: true }).click()
    await reads(page.locator('.client-watches'), 'No watched keys.')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-clients')
    await ui.goTo('Store')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-store', { whole: true })
  })

  it('dialogs and messages are accessible', async () => {
    const { store, server } = await startConsole(SEED)
    await busy(store)
    const { page } = await open(server.link, { reducedMotion: true, allow: [/status of 400/] })
    const ui = new ConsolePage(page)
    await ui.open('line-1/speed')
    await ui.press('Edit')
    await ui.fill({ Value: '13', 'Expires in (seconds)': 'soon' })
    await ui.decide('Set')
    await ui.fill({ 'Expires in (seconds)': '' })
    await ui.decide('Set')
    await reads(ui.dialog.getByRole('alert'), 'Fencing token required')
    await store.load([{ key: 'line-1/speed', value: '99' }])
    await reads(ui.dialog, 'The value has changed')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-edit')
    await ui.decide('Cancel')
    await ui.press('Delete')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-delete')
    await ui.decide('Cancel')
    await page.keyboard.press('?')
    await expectAccessibleInBothThemes(page)
    await ui.decide('Close')
    await page.keyboard.press('n')
    await ui.fill({ Type: 'JSON', Value: '{', 'Expires in (seconds)': '-1', 'Fencing token': 'x' })
    await ui.decide('Set')
    await reads(ui.dialog, 'Must not be empty.')
    await expectAccessibleInBothThemes(page)
    await ui.decide('Cancel')
    await ui.goTo('Store')
    for (const action of ['Discard keys…', 'Reset…']) {
      await ui.press(action)
      await expectAccessibleInBothThemes(page)
      await ui.decide('Cancel')
    }
    const file = { name: 'keys.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from('{"dump":2}\n') }
    await page.locator('input[type=file]').setInputFiles(file)
    await expectAccessibleInBothThemes(page)
    await ui.decide('Load')
    await ui.showed('Request failed')
    await expectAccessibleInBothThemes(page)
    await ui.press('Freeze for 30 s')
    await ui.showed('Frozen for 30s')
    await expectAccessibleInBothThemes(page)
    await ui.goTo('Keys')
    await ui.row('line-1/speed').first().waitFor()
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-frozen')
  })

  it('the empty list and the token page are accessible', async () => {
    const { server } = await startConsole()
    const { page } = await open(server.link)
    await page.getByRole('heading', { name: 'No keys yet' }).waitFor()
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-empty')
    await new ConsolePage(page).search.fill('none')
    await page.getByRole('heading', { name: 'No matches' }).waitFor()
    await expectAccessibleInBothThemes(page)
    await page.evaluate(() => sessionStorage.clear())
    await page.reload()
    await page.getByRole('heading', { name: 'Token required' }).waitFor()
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-token')
  })

  it('the layout does not shift while values change', async () => {
    const { store, server } = await startConsole(SEED)
    await busy(store)
    const { page } = await open(server.link, {
      beforeLoad: async opened => void (await opened.addInitScript(countShifts)),
    })
    const ui = new ConsolePage(page)
    await ui.row('session/1').waitFor()
    await firstValueFrom(openClient(store.url).key('zz/last', text).set('new'))
    await ui.row('zz/last').waitFor()
    store.freeze(600_000)
    await reads(ui.health, 'frozen')
    store.freeze(0)
    await reads(ui.health, 'live')
    expect(await page.evaluate('shifted')).toBeLessThan(0.01)
  })

  it('tabs keep their positions, and the page fits the window, in every view', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link, { reducedMotion: true })
    const ui = new ConsolePage(page)
    const readPositions = () =>
      page
        .locator('.nav a')
        .evaluateAll(tabs =>
          tabs.map(tab => `${Math.round(tab.getBoundingClientRect().left)} ${document.documentElement.scrollHeight}`),
        )
    await reads(page.locator('.nav'), 'Keys')
    await expect.poll(() => page.locator('.nav-amount').count()).toBe(2)
    await painted(page)
    const positionsBefore = await readPositions()
    expect(positionsBefore[0]).toMatch(new RegExp(` ${SIZES.desktop.height}$`))
    for (const view of ['Clients', 'Store', 'Metrics'] as const) {
      await ui.goTo(view)
      await has(page.getByRole('link', { name: view }), 'aria-current', 'page')
      expect(await readPositions()).toEqual(positionsBefore)
    }
  })

  it('controls are large enough to touch on a phone', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link, { size: 'phone', touch: true })
    const ui = new ConsolePage(page)
    await ui.row('empty').waitFor()
    expect(await tooSmall(page)).toEqual([])
    await ui.open('recipe/baguette')
    expect(await tooSmall(page)).toEqual([])
    await ui.press('Close')
    await ui.goTo('Store')
    await page.getByRole('button', { name: 'Dump', exact: true }).waitFor()
    expect(await tooSmall(page)).toEqual([])
  })

  it('the theme changes with the switch and is remembered', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link, { theme: 'dark' })
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const root = page.locator('html')
    await page.getByRole('button', { name: /^Theme/ }).click()
    await has(root, 'data-theme', 'light')
    expect(await paper()).toBe('rgb(244, 243, 239)')
    await page.reload()
    expect(await paper()).toBe('rgb(244, 243, 239)')
    await page.getByRole('button', { name: /^Theme/ }).click()
    await has(root, 'data-theme', 'dark')
    expect(await paper()).toBe('rgb(16, 20, 21)')
    await page.getByRole('button', { name: /^Theme/ }).click()
    expect(await root.getAttribute('data-theme')).toBeNull()
  })

  it('the page loads only from its server, within the size budgets of code and fonts', async () => {
    const { server } = await startConsole(SEED)
    const files: Response[] = []
    const { page } = await open(server.link, {
      beforeLoad: async opened => {
        opened.on('response', response => {
          if (!response.url().includes('/api/')) files.push(response)
        })
      },
    })
    await reads(new ConsolePage(page).cell('line-1/state', 'value'), 'running')
    expect(files.map(file => file.url()).filter(url => !url.startsWith(server.url))).toEqual([])
    // The page loads the other views and the chart library when it is idle.
    const isLater = (url: string): boolean => /\/assets\/(?!index-)[^/]+\.(js|css)$/.test(url)
    await expect.poll(() => files.filter(file => isLater(file.url())).length).toBeGreaterThan(1)
    const sizeOf = async (isCounted: (url: string) => boolean): Promise<number> => {
      const counted = () => files.filter(file => isCounted(file.url()))
      await expect.poll(() => counted().length).toBeGreaterThan(1)
      const sizes = await Promise.all(counted().map(async file => gzipSync(await file.body(), { level: 9 }).length))
      return sizes.reduce((sum, size) => sum + size)
    }
    expect(await sizeOf(url => !url.endsWith('.woff2') && !isLater(url))).toBeLessThanOrEqual(
      budgets['console, initial'].budget,
    )
    expect(await sizeOf(url => url.endsWith('.woff2'))).toBeLessThanOrEqual(budgets['console, fonts'].budget)
  })
})

/** Returns the controls smaller than 40 px, except links within text. */
const tooSmall = (page: Page): Promise<readonly string[]> =>
  page.locator('button:visible, a:visible, input:visible:not([type=file]), [role=row]:visible').evaluateAll(elements =>
    elements
      .filter(element => !element.classList.contains('link') && element.closest('.grid-head, .unseen') === null)
      .map(element => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 1 && (box.height < 40 || box.width < 40))
      .map(({ element, box }) => `${element.outerHTML.slice(0, 80)} is ${box.width} by ${box.height}`),
  )
