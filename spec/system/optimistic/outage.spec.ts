import type { Page } from 'playwright-core'
import { lastValueFrom } from 'rxjs'
import { beforeAll, expect, it } from 'vitest'
import { number, systemClock } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { NO_SOCKET } from '../browser/support/guard.js'
import type { Controls, PageOptions } from './support/page-program.js'

declare const page: Controls

const PROGRAM = new URL('support/page-program.ts', import.meta.url).pathname
const HOUR_MS = 3_600_000

const openView = (one: Page, options: PageOptions) => one.evaluate(how => page.open('setPoint', how), options)
const shown = (one: Page) => one.evaluate(() => page.states().at(-1))
const settled = (one: Page) => one.evaluate(() => page.settled())

describeInBrowser('a page reloaded after an outage', openPage => {
  let program = ''
  beforeAll(async () => {
    program = await bundle(PROGRAM)
  })

  /**
   * Opens a page that writes 25 while disconnected and is closed. The store restarts, and another client may write 30
   * before the page is opened again.
   */
  async function reloadAfterOutage(options: PageOptions, hasOtherWriter: boolean) {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const setPoint = client.key('setPoint', number)
    await setPoint.set(20)
    const link = await layLink(store.wsUrl)
    const address = `${await servePage(program)}?store=${link.url.replace('mqtt:', 'ws:')}`
    const { page: first } = await openPage(address, { allow: [NO_SOCKET] })
    await openView(first, options)
    await settled(first)
    link.cut()
    await first.evaluate(() => page.until('reconnecting'))
    await first.evaluate(() => page.write([24, 25]))
    const before = await shown(first)
    // IndexedDB has completed earlier requests once this request completes.
    await first.evaluate(() => indexedDB.databases())
    const second = await first.context().newPage()
    if (options.isKept) await expect.poll(() => keptIn(second, address)).toBe(1)
    await first.close()
    await store.restart({ keys: 'kept' })
    // A read is resent after the reconnect.
    await setPoint.get()
    if (hasOtherWriter) await setPoint.set(30)
    link.restore()
    await second.goto(address)
    await openView(second, options)
    const becomes = (state: object): Promise<void> => expect.poll(() => shown(second)).toMatchObject(state)
    const stored = async (): Promise<number | undefined> => (await lastValueFrom(setPoint.get())).value
    return { before, becomes, stored, asked: () => second.evaluate(() => page.lateWrites()) }
  }

  it('drop: a write fails immediately, and nothing is sent later', async () => {
    const { before, becomes, stored } = await reloadAfterOutage({ offline: 'drop' }, true)
    expect(before).toMatchObject({ value: 20, state: 'refused', error: 'offline' })
    await becomes({ value: 30, state: 'confirmed', late: undefined })
    expect(await stored()).toBe(30)
  })

  it.each([
    { others: true, value: 30, late: { superseded: true } },
    { others: false, value: 25, late: { restored: true, sentAfter: expect.any(Number) } },
  ])(
    'latest: the newest write is sent late unless another client has written later ($others)',
    async ({ others, value, late }) => {
      const options = { offline: 'latest', maxAge: HOUR_MS, isKept: true } as const
      const { before, becomes, stored } = await reloadAfterOutage(options, others)
      expect(before).toMatchObject({ value: 25, state: 'pending', late: { restored: false } })
      await becomes({ value, state: 'confirmed', late })
      expect(await stored()).toBe(value)
    },
  )

  it('latest: a write older than maxAge is not sent', async () => {
    const { becomes, stored } = await reloadAfterOutage({ offline: 'latest', maxAge: 1, isKept: false }, true)
    await becomes({ value: 30, state: 'confirmed' })
    expect(await stored()).toBe(30)
  })

  it.each([
    { answer: true, stored: 25 },
    { answer: false, stored: 30 },
  ])(
    'ask: the callback receives the current value, and its answer decides $answer',
    async ({ answer, stored: expected }) => {
      const { becomes, stored, asked } = await reloadAfterOutage(
        { offline: 'ask', maxAge: HOUR_MS, isKept: true, answer },
        true,
      )
      await expect.poll(asked).toEqual([expect.objectContaining({ key: 'setPoint', value: 25, current: 30 })])
      await becomes({ value: expected, state: 'confirmed' })
      expect(await stored()).toBe(expected)
    },
  )

  it.each([
    { others: true, stored: 30, state: 'refused', error: 'conflict' },
    { others: false, stored: 25, state: 'confirmed', error: undefined },
  ])(
    'cas: a write is sent only if no other client has written ($others)',
    async ({ others: hasOtherWriter, stored: expected, state, error }) => {
      const { becomes, stored } = await reloadAfterOutage(
        { offline: 'cas', maxAge: HOUR_MS, isKept: true },
        hasOtherWriter,
      )
      await becomes({ value: expected, state, error })
      expect(await stored()).toBe(expected)
    },
  )
})

/** Returns the number of writes stored for the origin. */
async function keptIn(other: Page, address: string): Promise<number> {
  if (other.url() === 'about:blank') await other.goto(new URL(address).origin)
  return other.evaluate(
    () =>
      new Promise<number>(resolve => {
        const opening = indexedDB.open('spec', 1)
        opening.onupgradeneeded = () => void opening.result.createObjectStore('writes')
        opening.onsuccess = () => {
          const counting = opening.result.transaction('writes').objectStore('writes').count()
          counting.onsuccess = () => {
            opening.result.close()
            resolve(counting.result)
          }
        }
      }),
  )
}
