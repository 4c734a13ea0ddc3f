import type { Page } from 'playwright-core'
import { filter, firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number } from '../../../src/client/index.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { DialControl } from './support/dial.js'
import { NO_SOCKET } from './support/guard.js'
import { type Holding, holdBack } from './support/hold-back.js'
import { SIZES, takePictures } from './support/looks.js'
import { SET_POINT, serveThermostat } from './support/thermostat.js'
import { reads } from './support/waiting.js'

const LIVE = 'Live'
const words = (page: Page) => page.locator('.words')

/** Moves one finger over the page, with touch events as on a phone. */
async function swipe(page: Page, places: readonly { readonly x: number; readonly y: number }[]): Promise<void> {
  const phone = await page.context().newCDPSession(page)
  for (const [i, place] of places.entries()) {
    await phone.send('Input.dispatchTouchEvent', { type: i === 0 ? 'touchStart' : 'touchMove', touchPoints: [place] })
  }
  await phone.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
}

describeInBrowser('The looks of the thermostat', open => {
  const startThermostat = serveThermostat()

  it('the thermostat is accessible in all sizes, themes and states', async () => {
    const { url, link } = await startThermostat()
    let holding: Holding | undefined
    const { page } = await open(url, {
      allow: [NO_SOCKET],
      reducedMotion: true,
      beforeLoad: async opened => {
        holding = await holdBack(opened)
      },
    })
    const dial = new DialControl(page)
    await reads(words(page), LIVE)
    await dial.shows(21)
    await dial.grab(21)
    await dial.move(21, 24.5)
    await takePictures(page, 'thermostat-turning', { sizes: ['desktop'], themes: ['light'] })
    await dial.release()
    await dial.shows(24.5)
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-live')

    holding?.after(3)
    link.cut()
    await reads(words(page), /^Stale since/)
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-stale')

    await page.getByRole('button', { name: 'Half a degree more' }).click()
    await reads(page.locator('#notice'), 'Waiting for the connection')
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-waiting')

    link.restore()
    await reads(page.locator('.detail'), 'reading 3 of 5')
    await reads(words(page), /^Stale since/)
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-resyncing')
  })

  it('the thermostat is accessible while it connects', async () => {
    const { url } = await startThermostat()
    const { page } = await open(url, {
      reducedMotion: true,
      beforeLoad: opened => opened.routeWebSocket(/\/store$/, () => undefined),
    })
    await reads(words(page), 'Connecting')
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-connecting')
  })

  it('the thermostat is accessible after a refusal, also with its details', async () => {
    const { url, client } = await startThermostat()
    const { page } = await open(url, { reducedMotion: true })
    const dial = new DialControl(page)
    await dial.shows(21)
    const { version } = await firstValueFrom(client.key(SET_POINT, number).set(22))
    await firstValueFrom(client.key(SET_POINT, number).set(22, { fencingToken: String(version) }))
    await page.getByRole('button', { name: 'Half a degree more' }).click()
    await reads(page.locator('#notice [role=alert]'), 'Not set. Another controller holds the lock.')
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-refused')
    await page.locator('#notice').getByText('Details').click()
    await expectAccessibleEverywhere(page)
    await takePictures(page, 'thermostat-refused-details')
  })

  it('buttons on a phone are at least 44 px wide and high', async () => {
    const { url } = await startThermostat()
    const { page } = await open(url, { size: 'phone', touch: true })
    await reads(words(page), LIVE)
    const sizes = await page
      .locator('button, label, summary')
      .evaluateAll(targets => targets.map(target => target.getBoundingClientRect()).filter(({ width }) => width > 0))
    expect(Math.min(...sizes.flatMap(({ width, height }) => [width, height]))).toBeGreaterThanOrEqual(44)
  })

  it('changes are listed in order, in as many whole rows as fit', async () => {
    const { url, client } = await startThermostat()
    for (const value of [20, 22, 23]) await client.key(SET_POINT, number).set(value)
    const { page } = await open(url)
    await reads(words(page), LIVE)
    await client.key(SET_POINT, number).set(24)
    // The heater may follow.
    await reads(page.locator('#log li').filter({ hasText: '24.0°' }), '24.0°')
    const times = (await page.locator('#log .version').allInnerTexts()).map(version => Number(version.split(':')[0]))
    expect(times).toEqual([...times].sort((a, b) => b - a))
    const [list, row] = await Promise.all(
      ['#log', '#log li'].map(selector =>
        page
          .locator(selector)
          .first()
          .evaluate(({ clientHeight }) => clientHeight),
      ),
    )
    // A row includes its border.
    expect((list ?? 0) % ((row ?? 0) + 1)).toBe(0)
  })

  it('a finger on the dial turns it, and a finger elsewhere scrolls the page', async () => {
    const { url } = await startThermostat()
    const { page } = await open(url, { size: 'phone', touch: true })
    const dial = new DialControl(page)
    await dial.shows(21)
    const arc = await Promise.all([21, 21.5, 22, 22.5, 23, 23.5, 24].map(value => dial.placeOf(value)))
    await swipe(page, arc)
    await dial.shows(24)
    expect(await page.evaluate(() => scrollY)).toBe(0)

    const box = await dial.slider.boundingBox()
    const { x, y } = { x: (box?.x ?? 0) + 60, y: (box?.y ?? 0) + 60 }
    await swipe(
      page,
      Array.from({ length: 12 }, (_, i) => ({ x, y: y - i * 20 })),
    )
    await page.waitForFunction(() => scrollY > 50)
    await dial.shows(24)
  })

  it('a tap on the ring does not turn the dial', async () => {
    const { url, client, written } = await startThermostat()
    const { page } = await open(url, { size: 'phone', touch: true })
    const dial = new DialControl(page)
    await dial.shows(21)
    const { x, y } = await dial.placeOf(28)
    await page.touchscreen.tap(x, y)
    await page.getByRole('button', { name: 'Half a degree more' }).tap()
    await dial.shows(21.5)
    await firstValueFrom(client.key(SET_POINT, number).value$.pipe(filter(value => value === 21.5)))
    expect(written).toEqual([21, 21.5])
  })

  it('the thermostat respects reduced motion', async () => {
    const { url } = await startThermostat()
    const { page } = await open(url, { reducedMotion: true })
    await reads(words(page), LIVE)
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0)
  })
})

async function expectAccessibleEverywhere(page: Page): Promise<void> {
  for (const size of [SIZES.phone, SIZES.desktop]) {
    await page.setViewportSize(size)
    await expectAccessibleInBothThemes(page)
  }
}
