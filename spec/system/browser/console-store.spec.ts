import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number, text } from '../../../src/client/index.js'
import { openClient, record } from '../../support/open-client.js'
import { describeInBrowser } from './support/browser.js'
import { ConsoleHand, startConsole } from './support/console.js'
import { NO_SOCKET } from './support/guard.js'
import { reads } from './support/waiting.js'

const SEED = [
  { key: 'a', value: '1' },
  { key: 'b', value: '2' },
]
/** Errors of chromium for an unreachable server and for a broken connection. */
const NO_SERVER = /net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE)/

describeInBrowser('The store on the console', open => {
  it('the clients view disconnects a client, which reconnects', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url, { clientId: 'panel-7' })
    const states = record(client.status$)
    record(client.key('a', number).value$)
    const { page } = await open(`${server.link}`)
    const hand = new ConsoleHand(page)
    await hand.goTo('Clients')
    const row = page.getByRole('row', { name: 'panel-7' })
    await reads(row.locator('[data-label=watches]'), '1')
    await reads(page.getByRole('row').filter({ hasText: 'this page' }), /^console-/)
    await page.getByRole('button', { name: 'panel-7', exact: true }).click()
    await page.getByRole('link', { name: 'a', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Disconnect panel-7' }).click()
    await states.until(({ values }) => values.some(({ state }) => state === 'reconnecting'))
    await states.until(({ values }) => values.at(-1)?.state === 'connected')
    await reads(hand.toasts, 'Disconnected panel-7')
    await reads(row.locator('[data-label=watches]'), '1')
    await page.getByRole('link', { name: 'a', exact: true }).click()
    await reads(hand.detail.locator('.detail-number'), '1')
  })

  it('a frozen store is reported, and its values are grey until it resumes', async () => {
    const { store, server } = await startConsole(SEED)
    const writer = openClient(store.url)
    const { page } = await open(server.link)
    const hand = new ConsoleHand(page)
    await reads(hand.cell('a', 'value'), '1')
    await hand.goTo('Store')
    await hand.press('Freeze for 2 min')
    await reads(hand.health, /^frozen\s*1m \d\ds left$/)
    await reads(page.getByRole('status'), 'Store frozen')
    await hand.goTo('Keys')
    await reads(hand.cell('a', 'value'), '1')
    expect(await hand.cell('a', 'value').evaluate(cell => getComputedStyle(cell).filter)).toBe('grayscale(1)')
    await hand.row('a').click()
    await reads(hand.detail.locator('.detail-number'), '1')
    const written = firstValueFrom(writer.key('a', number).set(9, { timeout: 60_000 }))
    await hand.press('Resume')
    await reads(hand.health, 'live')
    await written
    await reads(hand.cell('a', 'value'), '9')
    expect(await hand.cell('a', 'value').evaluate(cell => getComputedStyle(cell).filter)).toBe('none')
  })

  it('the store can be restarted with and without its keys', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link, { allow: [NO_SOCKET] })
    const hand = new ConsoleHand(page)
    await hand.row('a').waitFor()
    await hand.goTo('Store')
    await hand.press('Keep keys')
    await reads(hand.toasts, 'Keys kept.')
    await reads(hand.health, 'live')
    expect(store.stats.keys).toBe(2)

    await hand.press('Discard keys…')
    await reads(hand.dialog, 'deletes 2 keys')
    await hand.decide('Restart without keys')
    await reads(hand.toasts, 'Keys lost.')
    await hand.goTo('Keys')
    await reads(page.getByRole('heading', { name: 'No keys yet' }), 'No keys yet')
  })

  it('the store can be reset to its seed, dumped and loaded', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    await firstValueFrom(client.key('a', number).set(7))
    await firstValueFrom(client.key('c', text).set('three', { expiresIn: 600_000 }))
    const { page } = await open(server.link)
    const hand = new ConsoleHand(page)
    await reads(hand.cell('c', 'value'), 'three')
    await hand.goTo('Store')
    const [download] = await Promise.all([page.waitForEvent('download'), hand.press('Dump')])
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

    await hand.press('Reset…')
    await hand.decide('Reset')
    await reads(hand.toasts, /Reset to seed\s*1 key deleted, 2 set\./)
    await hand.goTo('Keys')
    await reads(hand.cell('a', 'value'), '1')
    await hand.row('c').waitFor({ state: 'detached' })

    await hand.goTo('Store')
    await page.locator('input[type=file]').setInputFiles(file)
    await hand.decide('Load')
    await reads(hand.toasts, 'Loaded 3 keys')
    await hand.goTo('Keys')
    await reads(hand.cell('a', 'value'), '7')
    await reads(hand.cell('c', 'ttl'), /^9m/)
  })

  it('the header shows the request rate', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const hand = new ConsoleHand(page)
    await hand.row('a').waitFor()
    const chart = page.getByRole('banner').getByRole('img', { name: /^Requests per second/ })
    const client = openClient(store.url)
    const writing = setInterval(() => client.key('a', number).set(1).subscribe(), 20)
    try {
      await expect.poll(() => chart.getAttribute('aria-label')).toMatch(/highest [2-9]\d$/)
    } finally {
      clearInterval(writing)
    }
    expect(await chart.locator('.spark-line').getAttribute('d')).toMatch(/^M.*L/)
  })

  it('the page is stale while the server is unreachable', async () => {
    const { store, server } = await startConsole([...SEED, { key: 'note', value: 'old' }])
    const { page } = await open(server.link, { allow: [NO_SOCKET, NO_SERVER] })
    const hand = new ConsoleHand(page)
    await reads(hand.cell('a', 'value'), '1')
    await hand.row('note').click()
    await reads(hand.detail, 'live')
    await server.close()
    await store.close()
    await reads(hand.health, /^stale\s*for [1-9]s$/)
    await reads(hand.detail, /stale for \d+s/)
    await reads(page.getByRole('contentinfo'), 'Server unreachable. Values as of')
    await reads(hand.cell('a', 'value'), '1')
  })

  it('the page requires the token and rejects a wrong one', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.url, { allow: [/status of 401/] })
    const hand = new ConsoleHand(page)
    await reads(page.getByRole('heading', { level: 2 }), 'Token required')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
    await page.getByLabel('Token or URL').fill('guess')
    await hand.press('Open console')
    await reads(page.getByRole('heading', { level: 2 }), 'Token rejected')
    await page.getByLabel('Token or URL').fill(server.link)
    await hand.press('Open console')
    await reads(hand.cell('a', 'value'), '1')
    await page.reload()
    await reads(hand.cell('a', 'value'), '1')
  })
})
