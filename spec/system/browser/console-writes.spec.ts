import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { bytes, number, text } from '../../../src/client/index.js'
import { displayText } from '../../../src/core/util/bytes.js'
import type { StoreServer } from '../../../src/server/index.js'
import { requestsOf } from '../../support/client-requests.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient } from '../../support/open-client.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { reads } from './support/waiting.js'

const SEED = [
  { key: 'speed', value: '12' },
  { key: 'note', value: 'old' },
]

const textIn = (store: StoreServer, key: string): string => displayText(store.peek(key)?.value ?? new Uint8Array())

describeInBrowser('Writing on the console', open => {
  it('a key is set with options, counts down and expires', async () => {
    const clock = new ManualClock(Date.now())
    const { store, server } = await startConsole(SEED, { clock })
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.row('speed').waitFor()
    await page.keyboard.press('n')
    await ui.fill({ Key: 'session/1', Type: 'JSON', Value: '{"user":"ann"}', 'Expires in (seconds)': '3000' })
    await ui.fill({ Condition: 'Only if the key does not exist' })
    await ui.decide('Set')
    await ui.dialog.waitFor({ state: 'detached' })
    await ui.showed(new RegExp(`Set session/1\\s*Version ${store.peek('session/1')?.version}`))
    await reads(ui.cell('session/1', 'value'), '{"user":"ann"}')
    const ttl = ui.cell('session/1', 'ttl')
    await reads(ttl, /^\d\dm \d\ds$/)
    // The two times of the format have the same length, so that they are ordered like the texts.
    const before = await ttl.innerText()
    await expect.poll(async () => (await ttl.innerText()) < before).toBe(true)
    clock.advance(3_000_000)
    await ui.row('session/1').waitFor({ state: 'detached' })
    expect(store.peek('session/1')).toBeUndefined()
  })

  it('binary values are set, and invalid input is reported per field', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.press('Set a key')
    await ui.fill({ Type: 'Hex', Value: '00 f', 'Expires in (seconds)': 'soon', 'Fencing token': 'x' })
    await ui.decide('Set')
    for (const problem of ['not be empty', 'pairs of hex', 'a positive number', 'Must be a version']) {
      await reads(ui.dialog.locator('.field-problem'), problem)
    }
    await ui.fill({ Key: 'blob', Value: '00 ff', 'Expires in (seconds)': '', 'Fencing token': '' })
    await ui.decide('Set')
    await reads(ui.cell('blob', 'value'), '00 FF')
    expect(store.peek('blob')?.value).toEqual(new Uint8Array([0, 255]))
  })

  it('a write whose condition is not met is reported', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.press('Set a key')
    await ui.fill({ Key: 'note', Value: 'new', Condition: 'Only if absent or equal to this value' })
    await ui.decide('Set')
    await reads(ui.dialog.getByRole('alert'), `already has a value, version ${store.peek('note')?.version}`)
    await ui.fill({ Value: 'old' })
    await ui.decide('Set')
    await ui.dialog.waitFor({ state: 'detached' })
    expect(textIn(store, 'note')).toBe('old')
  })

  it('a concurrent change is shown while editing', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    const { page } = await open(server.link)
    const requests = requestsOf(store, () => true)
    const ui = new ConsolePage(page)
    await ui.open('speed')
    await ui.press('Edit')
    const value = ui.dialog.getByLabel('Value', { exact: true })
    expect(await value.inputValue()).toBe('12')
    expect(await ui.dialog.getByRole('radio', { name: 'Number' }).isChecked()).toBe(true)
    await value.fill('13')
    await firstValueFrom(client.key('speed', number).set(99))
    await reads(ui.dialog, 'The value has changed')
    expect(await value.inputValue()).toBe('13')
    await ui.decide('Use this value')
    expect(await value.inputValue()).toBe('99')
    await value.fill('14')
    await firstValueFrom(client.key('speed', number).set(98))
    await ui.decide('Overwrite')
    await reads(ui.detail.locator('.detail-number'), '14')
    expect(textIn(store, 'speed')).toBe('14')
    expect(requests().filter(request => request.includes('IFVER'))).toEqual([
      expect.stringMatching(/^SET speed 14 IFVER /),
    ])
  })

  it('an edit preserves the time to live and compact JSON', async () => {
    const expiresAt = Date.now() + 600_000
    const { store, server } = await startConsole([{ key: 'recipe', value: '{"salt":20,"rye":true}', expiresAt }])
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('recipe', 'ttl'), /^\dm/)
    await ui.open('recipe')
    await ui.press('Edit')
    const value = ui.dialog.getByLabel('Value', { exact: true })
    expect(await value.inputValue()).toBe('{\n  "salt": 20,\n  "rye": true\n}')
    await value.fill('{\n  "salt": 21,\n')
    await reads(ui.dialog, 'Invalid JSON: ')
    await value.fill('{\n  "salt": 21\n}')
    await ui.decide('Set')
    await ui.dialog.waitFor({ state: 'detached' })
    expect(textIn(store, 'recipe')).toBe('{"salt":21}')
    expect(Math.abs((store.peek('recipe')?.expiresAt ?? 0) - expiresAt)).toBeLessThan(60_000)
  })

  it('the dialog fits a phone when a long value arrives', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link, { size: 'phone' })
    const ui = new ConsolePage(page)
    await ui.open('speed')
    await ui.press('Edit')
    await store.load([{ key: 'speed', value: 'x'.repeat(2_000) }])
    await reads(ui.dialog, 'The value has changed')
    const inner = ui.dialog.locator('.dialog-body')
    expect(await inner.evaluate(body => body.scrollWidth - body.clientWidth)).toBe(0)
  })

  it('an edit preserves line breaks', async () => {
    const { store, server } = await startConsole([{ key: 'page', value: 'a\r\nb' }])
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.open('page')
    await ui.press('Edit')
    await reads(ui.dialog, 'which only hex preserves')
    const value = ui.dialog.getByLabel('Value', { exact: true })
    await value.press('End')
    await value.pressSequentially(' 63')
    await ui.decide('Set')
    await ui.dialog.waitFor({ state: 'detached' })
    expect(textIn(store, 'page')).toBe('a\r\nbc')
  })

  it('a phone shows only one message at a time', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link, { size: 'phone' })
    const ui = new ConsolePage(page)
    for (const key of ['first', 'second']) {
      await page.getByRole('button', { name: /^Set/ }).click()
      await ui.fill({ Key: key, Value: '1' })
      await ui.decide('Set')
      await ui.showed(`Set ${key}`)
    }
    expect(await ui.toasts.locator('.toast:visible').count()).toBe(1)
  })

  it('a protected key requires its fencing token', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    const lock = await firstValueFrom(client.key('lock', text).set('me'))
    const token = String(lock.version)
    await firstValueFrom(client.key('speed', number).set(12, { fencingToken: token }))
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.open('speed')
    await ui.press('Edit')
    await ui.fill({ Value: '13' })
    await ui.decide('Set')
    await reads(ui.dialog.getByRole('alert'), 'Fencing token required')
    await ui.fill({ 'Fencing token': '1:0:long-ago' })
    await ui.decide('Set')
    await reads(ui.dialog.getByRole('alert'), 'Stale fencing token')
    await ui.decide('Use it, bypassing the lock')
    expect(await ui.dialog.getByLabel('Fencing token').inputValue()).toBe(token)
    await ui.decide('Set')
    await reads(ui.detail.locator('.detail-number'), '13')
    expect(textIn(store, 'speed')).toBe('13')
  })

  it('a delete applies only to the displayed value', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.open('note')
    await ui.press('Delete')
    await reads(ui.dialog, 'old')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel')
    await ui.decide('Cancel')
    expect(store.peek('note')).toBeDefined()

    await ui.press('Delete')
    await firstValueFrom(client.key('note', bytes).set(Buffer.from('newer')))
    await reads(ui.dialog, 'newer')
    await reads(ui.dialog.locator('.deleted-value'), 'old')
    await reads(ui.dialog, 'The value has changed')
    await ui.decide('Delete')
    await reads(ui.dialog, 'Not deleted')
    expect(textIn(store, 'note')).toBe('newer')
    await ui.decide('Use this value')
    await reads(ui.dialog.locator('.deleted-value'), 'newer')
    await ui.decide('Delete')
    await ui.showed(/Deleted\s*note/)
    await reads(ui.detail, 'The key was deleted.')
    await ui.row('note').waitFor({ state: 'detached' })
    expect(store.peek('note')).toBeUndefined()
  })
})
