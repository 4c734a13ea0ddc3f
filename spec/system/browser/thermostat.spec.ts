import type { Page } from 'playwright-core'
import { filter, firstValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { number, type StateStore } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { describeInBrowser } from './support/browser.js'
import { between, DialControl } from './support/dial.js'
import { NO_SOCKET } from './support/guard.js'
import { SET_POINT, serveThermostat, start } from './support/thermostat.js'
import { has, reads } from './support/waiting.js'

const LIVE = 'Live'
const STALE = /^Stale since \d\d:\d\d:\d\d$/

const words = (page: Page) => page.locator('.words')
const setTo = (store: StateStore, value: number) => firstValueFrom(store.key(SET_POINT, number).set(value))
const holds = (store: StateStore, value: number) =>
  firstValueFrom(store.key(SET_POINT, number).value$.pipe(filter(stored => stored === value)))

/** Returns where the page's parts are, in CSS pixels from its top. */
const placesOf = (page: Page): Promise<readonly number[]> =>
  page
    .locator('.steps, #mode, .tiles, #chart')
    .evaluateAll(parts => parts.map(part => part.getBoundingClientRect().top))

async function sentencesOf(page: Page): Promise<() => Promise<readonly string[]>> {
  const notes = await words(page).evaluateHandle(element => {
    const sentences: string[] = []
    const note = (changes: readonly MutationRecord[]): void => {
      for (const { addedNodes } of changes) for (const node of addedNodes) sentences.push(node.textContent ?? '')
    }
    new MutationObserver(note).observe(element, { childList: true })
    return sentences
  })
  return () => notes.jsonValue()
}

describeInBrowser('The thermostat', open => {
  const startThermostat = serveThermostat()

  it('the example starts with one command and shows the room', async () => {
    const url = await start([])
    expect((await fetch(`${url}/`)).status).toBe(404)
    const { page } = await open(url)
    await reads(words(page), LIVE)
    await new DialControl(page).shows(21)
    await reads(page.locator('#temperature'), /^\d\d\.\d°$/)
    await reads(page.locator('#humidity'), /^\d\d %$/)
    await reads(page.locator('#heating'), /^(On|Off)$/)
    await has(page.getByRole('radio', { name: 'Boost' }), 'value', 'boost')
    await expect.poll(() => page.getByRole('radio', { name: 'Boost' }).isChecked()).toBe(true)
    const row = page.locator('#log li').filter({ hasText: 'Set point 21.0°' })
    await reads(row.locator('.source'), 'at start')
    await reads(row.locator('.version'), /^\d+:\d+:StateStore$/)
  })

  it("two pages show each other's changes, also with an external store", async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    onTestFinished(async () => store.close())
    const url = await start(['--store', store.url, '--ws', store.wsUrl])
    const [{ page: ann }, { page: bob }] = await Promise.all([open(url), open(url, { size: 'phone' })])
    const [anns, bobs] = [new DialControl(ann), new DialControl(bob)]
    await anns.shows(21)
    await anns.grab(21)
    await anns.move(21, 25)
    await anns.release()
    await bobs.shows(25)
    await bob.getByRole('button', { name: 'Half a degree less' }).click()
    await anns.shows(24.5)
    await ann.getByRole('radio', { name: 'Off' }).check()
    await reads(bob.locator('.state'), 'switched off')
    await expect.poll(() => bob.getByRole('radio', { name: 'Off' }).isChecked()).toBe(true)
  })

  it('a drag writes only its latest values, and echoes do not move the dial back', async () => {
    const { url, link, client, written } = await startThermostat()
    const { page } = await open(url)
    const dial = new DialControl(page)
    await dial.shows(21)
    const recorded = await dial.record()
    link.stall('down')
    await dial.grab(21)
    await dial.move(21, 21.5)
    await holds(client, 21.5)
    await dial.move(21.5, 25)
    await dial.release()
    await dial.shows(25)
    // One write is that of the room, and the other is the first of the drag, which has no response yet.
    expect(written).toEqual([21, 21.5])
    link.resume()
    await holds(client, 25)
    expect(written).toEqual([21, 21.5, 25])
    await setTo(client, 20)
    await dial.shows(20)
    expect(await recorded()).toEqual([...between(21, 25), 20])
  })

  it('the keyboard turns the dial', async () => {
    const { url, client } = await startThermostat()
    const { page } = await open(url)
    const dial = new DialControl(page)
    await dial.shows(21)
    await dial.slider.focus()
    // Combinations with Ctrl belong to the browser.
    const keys = ['ArrowUp', 'ArrowUp', 'PageUp', 'ArrowLeft', 'Control+ArrowUp']
    for (const key of keys) await page.keyboard.press(key)
    await holds(client, 23.5)
    await dial.shows(23.5)
    await has(dial.slider, 'aria-valuetext', '23.5 degrees')
    await page.keyboard.press('Home')
    await holds(client, 10)
    await page.keyboard.press('End')
    await holds(client, 30)
  })

  it('the page shows since when its value is stale, and later what other clients wrote', async () => {
    const { url, link, client } = await startThermostat()
    const { page } = await open(url, { allow: [NO_SOCKET] })
    const dial = new DialControl(page)
    await reads(words(page), LIVE)
    const sentences = await sentencesOf(page)
    link.cut()
    await reads(words(page), STALE)
    await setTo(client, 26)
    await setTo(client, 27)
    await dial.shows(21)
    link.restore()
    await reads(words(page), LIVE)
    await dial.shows(27)
    await reads(page.locator('#log li').filter({ hasText: 'Set point 27.0°' }), 'after reconnect')
    expect(await page.locator('#log').innerText()).not.toContain('Set point 26.0°')
    // A screen reader announces the words, so they change only with the state.
    expect(await sentences()).toEqual([expect.stringMatching(STALE), LIVE])
  })

  it('a set point that was chosen while disconnected is written after the reconnect', async () => {
    const { url, link, client, written } = await startThermostat()
    const { page } = await open(url, { allow: [NO_SOCKET] })
    const dial = new DialControl(page)
    await dial.shows(21)
    link.cut()
    await reads(words(page), STALE)
    await dial.grab(21)
    await dial.move(21, 24)
    await dial.release()
    await dial.shows(24)
    await reads(page.locator('#notice'), 'Waiting for the connection')
    link.restore()
    await holds(client, 24)
    expect(written).toEqual([21, 24])
    await page.locator('#notice.empty').waitFor({ state: 'attached' })
  })

  it('the page recovers from a store that restarted without its data', async () => {
    const { url, store, client } = await startThermostat()
    const { page } = await open(url, { allow: [NO_SOCKET] })
    const dial = new DialControl(page)
    await dial.shows(21)
    await setTo(client, 23)
    await dial.shows(23)
    await page.getByRole('radio', { name: 'Off' }).check()
    await reads(page.locator('#heating'), 'Off')
    const [port, wsPort] = [store.url, store.wsUrl].map(address => Number(new URL(address).port))
    await store.close()
    await reads(words(page), STALE)
    const restarted = await serve({ port: port ?? 0, wsPort: wsPort ?? 0 })
    onTestFinished(async () => restarted.close())
    await reads(words(page), LIVE)
    // The room remembers its set point and writes it again.
    await holds(client, 23)
    await dial.shows(23)
    await reads(page.locator('.state'), 'switched off')
    await reads(page.locator('#heating'), 'Off')
    await reads(page.locator('#humidity'), /^\d+ %$/)
  })

  it('a rejected write shows the stored value and the reason, and moves nothing', async () => {
    const { url, client } = await startThermostat()
    const { page } = await open(url, { size: 'phone' })
    const dial = new DialControl(page)
    await dial.shows(21)
    const { version } = await setTo(client, 22)
    await dial.shows(22)
    await firstValueFrom(client.key(SET_POINT, number).set(22, { fencingToken: String(version) }))
    const before = await placesOf(page)
    await page.getByRole('button', { name: 'Half a degree more' }).click()
    await reads(page.locator('#notice [role=alert]'), 'Not set. Another controller holds the lock.')
    await has(page.locator('#notice'), 'data-state', 'refused')
    await dial.shows(22)
    expect(await placesOf(page)).toEqual(before)
    await page.locator('#notice').getByText('Details').click()
    await reads(page.locator('#notice .cause'), /fencing token/)
    expect(await placesOf(page)).toEqual(before)
  })

  it('a slow write is shown as pending until it is stored, and moves nothing', async () => {
    const { url, link } = await startThermostat()
    const { page } = await open(url)
    const dial = new DialControl(page)
    await dial.shows(21)
    const before = await placesOf(page)
    link.stall('down')
    await page.getByRole('button', { name: 'Half a degree more' }).click()
    await reads(page.locator('#notice [role=status]'), 'Saving…')
    await has(page.locator('#dial'), 'data-state', 'pending')
    expect(await placesOf(page)).toEqual(before)
    link.resume()
    await page.locator('#notice.empty').waitFor({ state: 'attached' })
    await has(page.locator('#dial'), 'data-state', 'live')
  })

  it('the dial cannot be turned before its value is known', async () => {
    const { url } = await startThermostat()
    const { page } = await open(url, {
      beforeLoad: opened => opened.routeWebSocket(/\/store$/, () => undefined),
    })
    await reads(words(page), 'Connecting')
    await reads(page.locator('.number'), '–')
    expect(await page.getByRole('button', { name: 'Half a degree more' }).isEnabled()).toBe(false)
  })
})
