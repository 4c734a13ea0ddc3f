import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number, systemClock, text } from '../../../src/client/index.js'
import { openClient, record } from '../../support/open-client.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, serveConsoleOf, startConsole } from './support/console.js'
import { NO_SERVER, NO_SOCKET } from './support/guard.js'
import { reads } from './support/waiting.js'

const SEED = [
  { key: 'a', value: '1' },
  { key: 'b', value: '2' },
]

describeInBrowser('The store on the console', open => {
  it('the clients view disconnects a client, and the client reconnects', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url, { clientId: 'panel-7' })
    const states = record(client.status$)
    record(client.key('a', number).value$)
    const { page } = await open(`${server.link}`)
    const ui = new ConsolePage(page)
    await ui.goTo('Clients')
    const row = page.getByRole('row', { name: 'panel-7' })
    await reads(row.locator('[data-label=watches]'), '1')
    await reads(page.getByRole('row').filter({ hasText: 'this page' }), /^console-/)
    await page.getByRole('button', { name: 'panel-7', exact: true }).click()
    await page.getByRole('link', { name: 'a', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Disconnect panel-7' }).click()
    await ui.showed('Disconnected panel-7')
    await states.until(({ values }) => values.some(({ state }) => state === 'reconnecting'))
    await states.until(({ values }) => values.at(-1)?.state === 'connected')
    await reads(row.locator('[data-label=watches]'), '1')
    await page.getByRole('link', { name: 'a', exact: true }).click()
    await reads(ui.detail.locator('.detail-number'), '1')
  })

  it('a console without faults shows none of the buttons that break the store', async () => {
    const { store } = await startConsole(SEED)
    const server = await serveConsoleOf(store, {})
    openClient(store.url, { clientId: 'panel-7' }).key('a', number).value$.subscribe()
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    const buttons = page.getByRole('button', { name: /Freeze|Keep keys|Discard keys|Disconnect|Resume/ })
    await ui.goTo('Clients')
    await page.getByRole('row', { name: 'panel-7' }).waitFor()
    expect(await buttons.count()).toBe(0)
    await ui.goTo('Store')
    await page.getByRole('button', { name: 'Dump' }).waitFor()
    expect(await buttons.count()).toBe(0)
    store.freeze(600_000)
    await reads(ui.health, /^Frozen/)
    expect(await buttons.count()).toBe(0)
  })

  it('the watched keys of a client are shown again after it reconnects', async () => {
    const { store, server } = await startConsole(SEED)
    const first = openClient(store.url, { clientId: 'panel-7' })
    record(first.key('a', number).value$)
    const { page } = await open(server.link)
    await new ConsolePage(page).goTo('Clients')
    const disclosure = page.getByRole('button', { name: 'panel-7', exact: true })
    await disclosure.click()
    await page.getByRole('link', { name: 'a', exact: true }).waitFor()
    await first.close()
    await disclosure.waitFor({ state: 'detached' })
    record(openClient(store.url, { clientId: 'panel-7' }).key('b', number).value$)
    await page.getByRole('link', { name: 'b', exact: true }).waitFor()
    expect(await disclosure.getAttribute('aria-expanded')).toBe('true')
  })

  it('the page reports a frozen store and shows its values in grey until the store resumes', async () => {
    const { store, server } = await startConsole(SEED)
    const writer = openClient(store.url)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('a', 'value'), '1')
    await ui.goTo('Store')
    await ui.press('Freeze for 2 min')
    await reads(ui.health, /^Frozen\s*1m \d\ds left$/)
    await reads(page.getByRole('status'), 'Store frozen')
    await ui.goTo('Keys')
    await reads(ui.cell('a', 'value'), '1')
    const filter = () => ui.cell('a', 'value').evaluate(cell => getComputedStyle(cell).filter)
    await expect.poll(filter).toBe('grayscale(1)')
    await ui.row('a').click()
    await reads(ui.detail.locator('.detail-number'), '1')
    const written = firstValueFrom(writer.key('a', number).set(9, { timeout: 60_000 }))
    await ui.press('Resume')
    await reads(ui.health, 'live')
    await written
    await reads(ui.cell('a', 'value'), '9')
    await expect.poll(filter).toBe('none')
  })

  it('the store can be restarted with and without its keys', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link, { allow: [NO_SOCKET] })
    const ui = new ConsolePage(page)
    await ui.row('a').waitFor()
    await ui.goTo('Store')
    await ui.press('Keep keys')
    await ui.showed('Keys kept.')
    await reads(ui.health, 'live')
    expect(store.stats.keys).toBe(2)

    await ui.press('Discard keys…')
    await reads(ui.dialog, 'deletes 2 keys')
    await ui.decide('Restart without keys')
    await ui.showed('Keys lost.')
    await ui.goTo('Keys')
    await reads(page.getByRole('heading', { name: 'No keys yet' }), 'No keys yet')
  })

  it('the store can be reset to its seed, dumped and loaded', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    await firstValueFrom(client.key('a', number).set(7))
    await firstValueFrom(client.key('c', text).set('three', { expiresIn: 600_000 }))
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('c', 'value'), 'three')
    await ui.goTo('Store')
    const [download] = await Promise.all([page.waitForEvent('download'), ui.press('Dump')])
    expect(download.suggestedFilename()).toBe('statestore.ndjson')
    const file = join(tmpdir(), `dump-${process.pid}.ndjson`)
    await download.saveAs(file)
    const dump = await readFile(file, 'utf8')
    expect(
      dump
        .trim()
        .split('\n')
        .slice(1, -1)
        .map(line => JSON.parse(line).key),
    ).toEqual(['a', 'b', 'c'])

    await ui.press('Reset…')
    await ui.decide('Reset')
    await ui.showed(/Reset to seed\s*1 key deleted, 2 set\./)
    await ui.goTo('Keys')
    await reads(ui.cell('a', 'value'), '1')
    await ui.row('c').waitFor({ state: 'detached' })

    await ui.goTo('Store')
    await page.locator('input[type=file]').setInputFiles(file)
    await ui.decide('Load')
    await ui.showed('Loaded 3 keys')
    await ui.goTo('Keys')
    await reads(ui.cell('a', 'value'), '7')
    await reads(ui.cell('c', 'ttl'), /^\dm/)
  })

  it('the header shows the request rate, except beside the rates of the Store view', async () => {
    const { store } = await startConsole(SEED)
    const server = await serveConsoleOf(store, { clock: systemClock })
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.row('a').waitFor()
    const chart = page.getByRole('banner').getByRole('img', { name: /^Requests per second/ })
    const client = openClient(store.url)
    const writing = setInterval(() => client.key('a', number).set(1).subscribe(), 20)
    try {
      await expect.poll(() => chart.getAttribute('aria-label')).toMatch(/highest ([2-9]\d|\d{3,})$/)
    } finally {
      clearInterval(writing)
    }
    expect(await chart.locator('.spark-line').getAttribute('d')).toMatch(/^M.*L/)
    await ui.goTo('Store')
    await chart.waitFor({ state: 'detached' })
    await page
      .getByRole('main')
      .getByRole('img', { name: /^Requests per second/ })
      .waitFor()
  })

  it('the page is stale while the server is unreachable', async () => {
    const { store, server } = await startConsole([...SEED, { key: 'note', value: 'old' }])
    const { page } = await open(server.link, { allow: [NO_SOCKET, NO_SERVER] })
    const ui = new ConsolePage(page)
    await reads(ui.cell('a', 'value'), '1')
    await ui.row('note').click()
    await reads(ui.detail, 'live')
    await server.close()
    await store.close()
    await reads(ui.health, /^Stale\s*for [1-9]\d*s$/)
    await reads(ui.detail, /Stale\s*for \d+s/)
    await reads(page.getByRole('contentinfo'), 'Store unreachable. Values as of')
    await reads(ui.cell('a', 'value'), '1')
  })

  it('the page requires the token and rejects a wrong token', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.url, { allow: [/status of 401/] })
    const ui = new ConsolePage(page)
    await reads(page.getByRole('heading', { level: 2 }), 'Token required')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
    await page.getByLabel('Token or URL').fill('guess')
    await ui.press('Open console')
    await reads(page.getByRole('heading', { level: 2 }), 'Token rejected')
    await expectAccessibleInBothThemes(page)
    await page.getByLabel('Token or URL').fill(server.link)
    await ui.press('Open console')
    await reads(ui.cell('a', 'value'), '1')
    await page.reload()
    await reads(ui.cell('a', 'value'), '1')
  })
})
