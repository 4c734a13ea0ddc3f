import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number, text } from '../../../src/client/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessible } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { painted } from './support/looks.js'
import { reads } from './support/waiting.js'

const SEED = [
  { key: 'thermostat1\\setPoint', value: '21.5' },
  { key: 'thermostat1\\mode', value: 'comfort' },
  { key: 'asset/7', value: '{"name":"pump"}' },
  { keyBytes: '/wA=', bytes: 'AAEC' },
]

describeInBrowser('The keys on the console', open => {
  it('the list shows all keys with value, age, time to live, watchers and lock', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    const { version } = await firstValueFrom(client.key('line-1/lock', text).set('me', { expiresIn: 3_600_000 }))
    await firstValueFrom(client.key('line-1/speed', number).set(12, { fencingToken: version ?? '' }))
    client.key('line-1/speed', number).value$.subscribe()
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)

    await reads(ui.cell('asset/7', 'value'), '{"name":"pump"}')
    await reads(ui.cell('0xFF00', 'value'), '00 01 02')
    await reads(ui.cell('thermostat1\\setPoint', 'value'), '21.5')
    await reads(ui.cell('line-1/lock', 'ttl'), /^5\dm \d\ds$/)
    await reads(ui.cell('line-1/speed', 'age'), /^\d+s$/)
    expect(
      await ui
        .cell('line-1/speed', 'key')
        .getByTitle(/^Fencing/)
        .getAttribute('title'),
    ).toBe(`Fencing token ${version}`)
    expect(await ui.cell('line-1/speed', 'activity').locator('svg').count()).toBe(0)
    await reads(ui.cell('line-1/speed', 'watchers'), '1')
    await expect
      .poll(() => ui.keys())
      .toEqual(['0xFF00', 'asset/7', 'line-1/lock', 'line-1/speed', 'thermostat1\\mode', 'thermostat1\\setPoint'])
    expect(new URL(page.url()).hash).toBe('')
  })

  it('the list follows writes, new keys, deletions and expiries of other clients', async () => {
    const clock = new ManualClock(Date.now())
    const { store, server } = await startConsole(SEED, { clock })
    const client = openClient(store.url)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('thermostat1\\setPoint', 'value'), '21.5')
    await firstValueFrom(client.key('thermostat1\\setPoint', number).set(23))
    await reads(ui.cell('thermostat1\\setPoint', 'value'), '23')
    expect(await ui.cell('thermostat1\\setPoint', 'value').locator('.flash').count()).toBe(1)
    expect(await ui.cell('thermostat1\\setPoint', 'activity').locator('.marbles-set').getAttribute('d')).toMatch(/^M/)

    await firstValueFrom(client.key('new/one', text).set('hello'))
    await reads(ui.cell('new/one', 'value'), 'hello')
    await firstValueFrom(client.key('asset/7', text).delete())
    await ui.row('asset/7').waitFor({ state: 'detached' })
    await firstValueFrom(client.key('new/one', text).set('soon gone', { expiresIn: 3_000_000 }))
    await reads(ui.cell('new/one', 'ttl'), /^\d\dm \d\ds$/)
    clock.advance(3_000_000)
    await ui.row('new/one').waitFor({ state: 'detached' })
  })

  it('the columns keep their places when keys with an expiry and a lock arrive', async () => {
    const { store, server } = await startConsole([{ key: 'a', value: '1' }])
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('a', 'watchers'), '0')
    await painted(page)
    const places = () =>
      page.getByRole('columnheader').evaluateAll(heads => heads.map(head => head.getBoundingClientRect().left))
    const before = await places()
    expect(await page.getByRole('columnheader').allInnerTexts()).toEqual([
      'Key',
      'Value',
      'Activity',
      'Age',
      'Expires',
      'Watchers',
    ])
    const fencingToken = `${Date.now()}:0:StateStore`
    await store.load([{ key: 'b', value: '1', expiresAt: Date.now() + 600_000, fencingToken }])
    await reads(ui.cell('b', 'ttl'), /^(10|\d)m \d\ds$/)
    await ui.cell('b', 'key').getByTitle(`Fencing token ${fencingToken}`).waitFor()
    expect(await places()).toEqual(before)
  })

  it('a search finds keys by a glob or by a word anywhere in the key', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.row('asset/7'), 'asset')
    await page.keyboard.press('/')
    await page.keyboard.type('thermostat1\\')
    await ui.row('asset/7').waitFor({ state: 'detached' })
    await expect.poll(() => ui.keys()).toEqual(['thermostat1\\mode', 'thermostat1\\setPoint'])
    await reads(page.locator('#found'), '2 keys *thermostat1\\\\*')
    await ui.search.fill('*/?')
    await ui.row('asset/7').waitFor()
    await expect.poll(() => ui.keys()).toEqual(['asset/7'])
    await ui.search.fill('nothing like it')
    await reads(page.getByRole('heading', { name: 'No matches' }), 'No matches')
    await ui.press('Show all keys')
    await reads(page.locator('#found'), '4 keys')
  })

  it("invisible characters are shown, and a search for a binary key's digits is explained", async () => {
    const { server } = await startConsole([{ key: ' user\u202egpj\n', value: '1' }, ...SEED])
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    const name = '·user\\u202egpj\\n'
    await reads(ui.cell(name, 'value'), '1')
    expect(await ui.row(name).locator('.key-sign').allTextContents()).toEqual(['·', '\\u202e', '\\n'])
    await ui.open(name)
    await ui.press('Delete')
    await reads(ui.dialog.locator('.deleted-key'), name)
    await ui.decide('Cancel')
    await ui.search.fill('0xFF*')
    await reads(page.getByRole('main'), 'is binary and cannot be found by its hex digits')
    await ui.search.fill('nothing*')
    await reads(page.getByRole('main'), 'No key matches nothing*')
    expect(await page.getByRole('main').innerText()).not.toContain('hex digits')
  })

  it('an empty store shows how to set a key', async () => {
    const { store, server } = await startConsole()
    const { page } = await open(server.link)
    await reads(page.getByRole('heading', { name: 'No keys yet' }), 'No keys yet')
    await reads(page.locator('main pre'), `--url ${store.url}`)
    await firstValueFrom(openClient(store.url).key('first', text).set('one'))
    await reads(new ConsolePage(page).cell('first', 'value'), 'one')
  })

  it('the console lists the first of many keys and watches only the visible keys', async () => {
    const seed = Array.from({ length: 2_500 }, (_, i) => ({ key: `sensor/${i}`, value: String(i) }))
    const { store, server } = await startConsole(seed)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(page.locator('#found'), '2,000 of 2,500 shown')
    expect(await ui.grid.getAttribute('aria-rowcount')).toBe('2001')
    await reads(ui.cell('sensor/3', 'value'), '3')
    expect((await ui.keys()).length).toBeLessThan(50)

    await ui.scroller.evaluate(grid => {
      grid.scrollTop = grid.scrollHeight
    })
    await reads(ui.cell('sensor/1999', 'value'), '1999')
    await expect
      .poll(() => Array.from(store.clients, ({ watches }) => watches))
      .toEqual([expect.toSatisfy(n => n < 50)])
    await firstValueFrom(openClient(store.url).key('sensor/1999', text).set('changed'))
    await reads(ui.cell('sensor/1999', 'value'), 'changed')

    await reads(page.locator('.grid-gap'), '500 keys are not shown. They may sort anywhere in this list.')
    await expectAccessible(page)
    await ui.press('Load 500 more')
    await reads(page.locator('#found'), '2,500 keys')
    expect(await ui.grid.getAttribute('aria-rowcount')).toBe('2501')
    expect(await page.locator('.grid-gap').count()).toBe(0)

    await ui.search.fill('sensor/12')
    await reads(page.locator('#found'), '111 keys *sensor/12*')
    await reads(ui.cell('sensor/12', 'value'), '12')
  })
})
