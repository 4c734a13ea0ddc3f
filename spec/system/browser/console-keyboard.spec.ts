import type { Page } from 'playwright-core'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { reads } from './support/waiting.js'

const SEED = Array.from({ length: 100 }, (_, i) => ({ key: `key/${i}`, value: String(i) }))

const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(() => document.activeElement?.querySelector('.cell-key')?.getAttribute('title'))

describeInBrowser('The console by keyboard', open => {
  it('the keyboard moves in the list, opens a key, and returns to its row', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('key/0', 'value'), '0')
    await ui.row('key/0').focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp']) await page.keyboard.press(key)
    expect(await focused(page)).toBe('key/1')
    await page.keyboard.press('End')
    expect(await focused(page)).toBe('key/99')
    await reads(ui.cell('key/99', 'value'), '99')
    await page.keyboard.press('PageUp')
    expect(Number((await focused(page))?.slice(4))).toBeLessThan(85)
    await page.keyboard.press('Home')
    expect(await focused(page)).toBe('key/0')
    const outline = await ui.row('key/0').evaluate(row => getComputedStyle(row).outlineStyle)
    expect(outline).toBe('solid')

    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await reads(ui.detail.locator('.detail-number'), '1')
    await page.keyboard.press('Escape')
    await ui.detail.waitFor({ state: 'detached' })
    await expect.poll(() => focused(page)).toBe('key/1')
  })

  it('Enter in the search moves to the list, and keys act on the open key from its pane', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await page.keyboard.press('/')
    await page.keyboard.type('key/42')
    await reads(page.locator('#found'), '1 key')
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toBe('key/42')
    await page.keyboard.press('Enter')
    await reads(ui.detail.locator('.detail-number'), '42')
    expect(await page.evaluate(() => document.activeElement?.closest('.detail') !== null)).toBe(true)
    await page.keyboard.press('e')
    await ui.fill({ Value: '43' })
    await page.keyboard.press('Escape')
    await ui.dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('Delete')
    await reads(ui.dialog.locator('.deleted-key'), 'key/42')
    await ui.decide('Delete')
    await reads(ui.detail, 'The key was deleted.')
    expect(store.peek('key/42')).toBeUndefined()
  })

  it.each([
    ['a fresh page', undefined],
    ['the search', '/'],
  ])('an arrow key moves the focus from %s into the list', async (_, first) => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    await reads(new ConsolePage(page).cell('key/0', 'value'), '0')
    if (first !== undefined) await page.keyboard.press(first)
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toBe('key/0')
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toBe('key/1')
  })

  it('a row keeps the focus when it is scrolled out of view', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.row('key/3').focus()
    await ui.scroller.evaluate(grid => {
      grid.scrollTop = 2_000
    })
    await ui.row('key/70').waitFor()
    expect(await focused(page)).toBe('key/3')
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toBe('key/4')
  })

  it('the keyboard acts on the focused row while other clients change rows above it', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('key/5', 'value'), '5')
    await ui.row('key/5').focus()
    for (const name of ['a', 'b', 'c']) await firstValueFrom(client.key(name, number).set(1))
    await ui.row('c').waitFor()
    expect(await focused(page)).toBe('key/5')
    await page.keyboard.press('Delete')
    await reads(ui.dialog.locator('.deleted-key'), 'key/5')
    await page.keyboard.press('Escape')
    await ui.dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toBe('key/6')
    for (const name of ['a', 'b', 'key/2']) await firstValueFrom(client.key(name, number).delete())
    await ui.row('key/2').waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await reads(ui.detail.locator('.detail-number'), '6')
  })

  it('the focus moves to the row after a deleted row, and from the last row to the search', async () => {
    const { store, server } = await startConsole(SEED.slice(0, 3))
    const client = openClient(store.url)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    for (const n of ['1', '2']) await reads(ui.cell(`key/${n}`, 'value'), n)
    await ui.row('key/1').focus()
    await page.keyboard.press('Delete')
    await ui.dialog.waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await ui.row('key/1').waitFor({ state: 'detached' })
    await expect.poll(() => focused(page)).toBe('key/2')

    await page.keyboard.press('Delete')
    await ui.dialog.waitFor()
    await firstValueFrom(client.key('key/2', number).delete())
    await ui.row('key/2').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe('key/0')

    await firstValueFrom(client.key('key/0', number).delete())
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('search')
  })

  it('shortcuts search, set, edit and delete keys and switch views', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('key/0', 'value'), '0')
    await page.keyboard.press('n')
    await ui.dialog.waitFor()
    await page.keyboard.type('key/new')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.type('n / 1')
    await page.keyboard.press('Escape')
    await ui.dialog.waitFor({ state: 'detached' })
    expect(store.peek('key/new')).toBeUndefined()

    await page.keyboard.press('/')
    await page.keyboard.type('key/4?')
    await reads(page.locator('#found'), '10 keys')
    await page.keyboard.press('Tab')
    await reads(ui.cell('key/40', 'value'), '40')
    await ui.row('key/40').focus()
    await page.keyboard.press('e')
    await ui.fill({ Value: '41.5' })
    await ui.decide('Set')
    await reads(ui.cell('key/40', 'value'), '41.5')
    await expect.poll(() => focused(page)).toBe('key/40')
    await page.keyboard.press('Delete')
    await ui.dialog.waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await ui.row('key/40').waitFor({ state: 'detached' })

    await page.keyboard.press('2')
    await page.getByRole('heading', { name: 'Clients' }).waitFor()
    await page.keyboard.press('3')
    await page.getByRole('heading', { name: 'Simulate failures' }).waitFor()
    await page.keyboard.press('?')
    await reads(ui.dialog, 'Page up')
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('search')
  })
})
