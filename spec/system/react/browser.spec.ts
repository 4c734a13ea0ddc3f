import type { Page } from 'playwright-core'
import { createElement, Fragment } from 'react'
import { renderToString } from 'react-dom/server'
import { firstValueFrom, NEVER } from 'rxjs'
import { beforeAll, expect, it } from 'vitest'
import { json, number, systemClock, text } from '../../../src/client/index.js'
import type { StoreServer } from '../../../src/server/index.js'
import { requestsOf } from '../../support/client-requests.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { fakeStore } from '../../support/operator-session.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { NO_SOCKET } from '../browser/support/guard.js'
import { reads } from '../browser/support/waiting.js'
import { Connection, Value } from './panel.js'
import type { Controls } from './program.js'

declare const bench: Controls
declare const step: (to: number) => void
declare const stepInTransition: (to: number) => void

const PROGRAM = new URL('program.ts', import.meta.url).pathname
const REGISTERED = ['KEYNOTIFY setPoint', 'GET setPoint']
const STOPPED = 'KEYNOTIFY setPoint STOP'

/** Returns a function that returns the page's requests so far, as text. */
function requestsTo(store: StoreServer): () => readonly string[] {
  const requests = requestsOf(store, clientId => clientId === 'page')
  return () => requests().filter(request => request !== 'GET marker')
}

const shown = (page: Page, title = 'setPoint') => page.getByTitle(title, { exact: true })
const notes = (page: Page) => page.evaluate(() => bench.notes)
const settled = (page: Page) => page.evaluate(() => bench.settled())

describeInBrowser('A component that uses a key', open => {
  let program = ''
  beforeAll(async () => {
    program = await bundle(PROGRAM)
  })

  /**
   * Opens a page that renders a scene against a store with the set point 20. `through` is another route to the store.
   */
  async function start(scene: string, { keys = ['setPoint'], strict = true, isLinked = false } = {}) {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const setPoint = client.key('setPoint', number)
    await firstValueFrom(setPoint.set(20))
    const link = isLinked ? await layLink(store.wsUrl) : undefined
    const requests = requestsTo(store)
    const address = link?.url.replace('mqtt:', 'ws:') ?? store.wsUrl
    const { page, guard } = await open(`${await servePage(program)}?store=${address}`)
    await page.evaluate(([name, names, isStrict]) => bench.show(name, names, isStrict), [scene, keys, strict] as const)
    return { store, client, setPoint, link, requests, page, guard }
  }

  it('useKey gets every change through one registration, also in StrictMode', async () => {
    const { store, setPoint, requests, page } = await start('one')
    await reads(shown(page), 'setPoint 20 live')
    for (let to = 1; to <= 20; to++) await page.evaluate(n => step(n), to)
    await page.getByTitle('step 20').waitFor()
    await firstValueFrom(setPoint.set(21))
    await reads(shown(page), 'setPoint 21 live')
    await settled(page)
    expect(requests()).toEqual(REGISTERED)
    expect(new Set((await notes(page)).shown)).toEqual(
      new Set(['setPoint nothing connecting', 'setPoint 20 live', 'setPoint 21 live']),
    )
    await page.evaluate(() => bench.hide())
    await settled(page)
    expect(requests()).toEqual([...REGISTERED, STOPPED])
    expect(store.stats.watches).toBe(0)
  })

  it('useKey renders once per change', async () => {
    const { setPoint, requests, page } = await start('one', { strict: false })
    await reads(shown(page), 'setPoint 20 live')
    const before = (await notes(page)).commits
    for (const value of [21, 22, 23]) {
      await firstValueFrom(setPoint.set(value))
      await reads(shown(page), `setPoint ${value} live`)
    }
    expect((await notes(page)).commits - before).toBe(3)
    expect(requests()).toEqual(REGISTERED)
  })

  it('components share a registration until the last component unmounts', async () => {
    const { store, requests, page } = await start('two')
    await reads(shown(page).first(), 'setPoint 20 live')
    await reads(shown(page).last(), 'setPoint 20 live')
    await page.evaluate(() => step(1))
    await settled(page)
    expect(await shown(page).allInnerTexts()).toEqual(['setPoint 20 live'])
    expect(requests()).toEqual(REGISTERED)
    await page.evaluate(() => step(2))
    await settled(page)
    expect(requests()).toEqual([...REGISTERED, STOPPED])
    expect(store.stats.watches).toBe(0)
  })

  it('a component that replaces another reuses its registration and shows its value immediately', async () => {
    const { requests, page } = await start('place')
    await reads(shown(page), 'setPoint 20 live')
    const before = (await notes(page)).shown.length
    for (let to = 1; to <= 5; to++) {
      await page.evaluate(n => step(n), to)
      await settled(page)
    }
    expect(new Set((await notes(page)).shown.slice(before))).toEqual(new Set(['setPoint 20 live']))
    expect(requests()).toEqual(REGISTERED)
  })

  it.each(['synchronously', 'in a transition'])('useKey switches to another key given %s', async how => {
    const { store, client, requests, page } = await start('change', { keys: ['setPoint', 'speed'] })
    await firstValueFrom(client.key('speed', number).set(7))
    await reads(shown(page), 'setPoint 20 live')
    await page.evaluate(isUrgent => (isUrgent ? step(1) : stepInTransition(1)), how === 'synchronously')
    await reads(shown(page, 'speed'), 'speed 7 live')
    await settled(page)
    expect([...requests()].sort()).toEqual([...REGISTERED, STOPPED, 'KEYNOTIFY speed', 'GET speed'].sort())
    const said = (await notes(page)).shown
    expect(said.slice(said.indexOf('setPoint 20 live'))).toEqual([
      'setPoint 20 live',
      'speed nothing connecting',
      'speed 7 live',
    ])
    expect(store.stats.watches).toBe(1)
  })

  it('useKey reports a stale value while disconnected, and the current value after the reconnect', async () => {
    const { setPoint, link, page, guard } = await start('status', { isLinked: true })
    guard.allow(NO_SOCKET)
    await reads(shown(page), 'setPoint 20 live')
    await reads(shown(page, 'status'), 'connected')
    link?.cut()
    await reads(shown(page), 'setPoint 20 stale')
    await reads(shown(page, 'status'), 'reconnecting')
    await firstValueFrom(setPoint.set(22))
    link?.restore()
    await reads(shown(page), 'setPoint 22 live')
    const said = (await notes(page)).shown
    expect(said.slice(said.indexOf('setPoint 20 stale'))).toEqual([
      'setPoint 20 stale',
      'setPoint 20 resyncing',
      'setPoint 22 live',
    ])
  })

  it('useKey returns the error that ended its watch, with the last value', async () => {
    const { store, page } = await start('status')
    await reads(shown(page), 'setPoint 20 live')
    openClient(store.url, { clientId: 'page' })
    await reads(shown(page), 'setPoint 20 stale closed')
    await reads(shown(page, 'status'), 'closed')
  })

  it('useKey returns the error if the client was closed before the component mounted', async () => {
    const { page } = await start('one')
    await reads(shown(page), 'setPoint 20 live')
    await page.evaluate(() => bench.close())
    await reads(shown(page), 'setPoint 20 stale closed')
    await page.evaluate(() => {
      bench.hide()
      bench.show('status', ['setPoint'])
    })
    await reads(shown(page), 'setPoint nothing connecting closed')
    await reads(shown(page, 'status'), 'closed')
  })

  it('a codec may be created while rendering, and an undecodable value is reported once', async () => {
    const { client, setPoint, link, page, guard } = await start('codecs', { isLinked: true })
    guard.allow(NO_SOCKET)
    await reads(shown(page), 'setPoint 20 live')
    await firstValueFrom(client.key('setPoint', text).set('warm'))
    await reads(shown(page), 'setPoint invalid live decode')
    await reads(shown(page, 'faults'), 'decode')
    const { commits } = await notes(page)
    await settled(page)
    expect((await notes(page)).commits).toBe(commits)
    link?.cut()
    await reads(shown(page), 'setPoint invalid stale decode')
    link?.restore()
    await reads(shown(page), 'setPoint invalid live decode')
    expect(await shown(page, 'faults').innerText()).toBe('decode')
    await firstValueFrom(setPoint.set(21))
    await reads(shown(page), 'setPoint 21 live')
  })

  it('useKey returns the same object while nothing changes, also with a new JSON codec', async () => {
    const options = { keys: ['asset'], strict: false, isLinked: true }
    const { client, link, page, guard } = await start('asset', options)
    guard.allow(NO_SOCKET)
    const asset = client.key('asset', json<{ id: number }>())
    await firstValueFrom(asset.set({ id: 7 }))
    await reads(shown(page, 'asset'), 'asset 7')
    for (let to = 1; to <= 5; to++) await page.evaluate(n => step(n), to)
    await page.getByTitle('step 5').waitFor()
    link?.cut()
    await page.getByText('asset 7 stale').waitFor()
    link?.restore()
    await page.getByText('asset 7 live').waitFor()
    await firstValueFrom(asset.set({ id: 8 }))
    await reads(shown(page, 'asset'), 'asset 8')
    expect((await notes(page)).shown).toEqual(['asset undefined', 'asset 7', 'asset 8'])
  })

  it('useGlob watches all matching keys through one registration, including new and deleted keys', async () => {
    const { store, client, requests, page } = await start('globs', { keys: ['s*'] })
    const shownKeys = shown(page, 'keys')
    await reads(shownKeys.first(), 'setPoint=20 live')
    await reads(shownKeys.last(), 'setPoint=20 live')
    await firstValueFrom(client.key('speed', number).set(7))
    await firstValueFrom(client.key('other', number).set(1))
    await reads(shownKeys.first(), 'setPoint=20 speed=7 live')
    await client.delete('setPoint')
    await reads(shownKeys.last(), 'speed=7 live')
    await page.evaluate(() => step(1))
    await settled(page)
    expect(Array.from(requests()).sort()).toEqual(['GET setPoint', 'GLOBNOTIFY s*', 'SCAN s*'])
    await page.evaluate(() => bench.hide())
    await settled(page)
    expect(requests()).toContain('GLOBNOTIFY s* STOP')
    expect(store.stats.watches).toBe(0)
  })

  it('useKeys watches several keys, also in StrictMode and with a new list per rendering', async () => {
    const { client, requests, page } = await start('keys', { keys: ['setPoint', 'speed'] })
    await reads(shown(page, 'keys'), 'setPoint=20 live')
    for (let to = 1; to <= 10; to++) await page.evaluate(n => step(n), to)
    await page.getByTitle('step 10').waitFor()
    await firstValueFrom(client.key('speed', number).set(7))
    await reads(shown(page, 'keys'), 'setPoint=20 speed=7 live')
    expect(Array.from(requests()).sort()).toEqual([...REGISTERED, 'KEYNOTIFY speed', 'GET speed'].sort())
  })

  it('useKeys reports stale values while disconnected', async () => {
    const { client, link, page, guard } = await start('keys', { keys: ['s*'], isLinked: true })
    guard.allow(NO_SOCKET)
    await reads(shown(page, 'keys'), 'setPoint=20 live')
    link?.cut()
    await reads(shown(page, 'keys'), 'setPoint=20 stale')
    await client.delete('setPoint')
    await firstValueFrom(client.key('speed', number).set(7))
    link?.restore()
    await reads(shown(page, 'keys'), 'speed=7 live')
    await page.evaluate(() => bench.close())
    await reads(shown(page, 'keys'), 'speed=7 stale closed')
  })

  it('a component renders only when used properties change, not for freshness alone', async () => {
    const { client, setPoint, link, page, guard } = await start('warm', { strict: false, isLinked: true })
    guard.allow(NO_SOCKET)
    await reads(shown(page, 'warm'), 'cold 1')
    const before = (await notes(page)).commits
    const commits = async (): Promise<number> => (await notes(page)).commits - before
    for (const value of [21, 22, 23]) await firstValueFrom(setPoint.set(value))
    await settled(page)
    link?.cut()
    await page.evaluate(() => bench.until('reconnecting'))
    link?.restore()
    await page.evaluate(() => bench.until('connected'))
    await settled(page)
    expect(await commits()).toBe(0)
    await firstValueFrom(setPoint.set(26))
    await reads(shown(page, 'warm'), 'warm 1')
    expect(await commits()).toBe(1)
    await firstValueFrom(client.key('speed', number).set(7))
    await reads(shown(page, 'warm'), 'warm 2')
    expect(await commits()).toBe(2)
  })

  it('an unmounted component leaves no subscription to the connection state', async () => {
    const { store, page } = await start('status')
    await reads(shown(page, 'status'), 'connected')
    await page.evaluate(() => step(1))
    await eventually(() => store.stats.watches === 0)
    await reads(shown(page, 'status'), 'connected')
    expect(await page.evaluate(() => bench.statusSubscribers())).toBe(1)
    await page.evaluate(() => bench.hide())
    expect(await page.evaluate(() => bench.statusSubscribers())).toBe(0)
  })

  it('hydration takes over server-rendered markup and then shows the current value', async () => {
    const { store } = await openStore({ clock: systemClock })
    await firstValueFrom(openClient(store.url).key('setPoint', number).set(20))
    const requests = requestsTo(store)
    const props = { store: fakeStore(() => NEVER).store, notes: { shown: [], commits: 0 } }
    const html = renderToString(
      createElement(
        Fragment,
        null,
        createElement(Value, { ...props, name: 'setPoint' }),
        createElement(Connection, props),
      ),
    )
    expect(html).toMatch(/setPoint nothing connecting<.*>connecting</)
    const address = await servePage(program, `<main id="root">${html}</main>`)
    const { page } = await open(`${address}?store=${store.wsUrl}`)
    const rendered = await shown(page).elementHandle()
    await page.evaluate(() => bench.hydrate('setPoint'))
    await reads(shown(page), 'setPoint 20 live')
    await reads(shown(page, 'status'), 'connected')
    expect(await rendered?.innerText()).toBe('setPoint 20 live')
    expect(requests()).toEqual(REGISTERED)
  })
})
