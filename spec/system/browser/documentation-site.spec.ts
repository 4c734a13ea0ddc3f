import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { nightly } from '../../support/effort.js'
import { expectAccessible } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { serveBuiltSite } from './support/built-site.js'
import { expectToFit, painted, THEMES, type Theme } from './support/looks.js'
import { reads } from './support/waiting.js'

const [PHONE, DESKTOP] = [
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
]
const GUIDE = '/security.html'

describeInBrowser('The documentation site', open => {
  /** Opens a page in each size, in one theme each except in the nightly run, and checks it after `act`. */
  async function check(path: string, act: (page: Page) => Promise<void>, sizes = [PHONE, DESKTOP]): Promise<void> {
    const site = await serveBuiltSite()
    for (const size of sizes) {
      for (const theme of nightly<readonly Theme[]>(THEMES, [size === PHONE ? 'dark' : 'light'])) {
        const { page } = await open(`${site}${path}`, {
          theme,
          reducedMotion: true,
          beforeLoad: opened => opened.setViewportSize(size),
          allow: [/status of 404.*\/nowhere\.html/],
        })
        await act(page)
        await painted(page)
        await expectToFit(page)
        await expectAccessible(page)
      }
    }
  }

  const search = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('fencing token')
    await page.locator('.result').first().waitFor()
  }

  it('the first page is accessible while its diagram is live, and while its network is cut', async () => {
    await check('/', async page => {
      await page.locator('live-marbles').scrollIntoViewIfNeeded()
      await reads(page.getByRole('status'), 'Live')
    })
    await check('/', async page => {
      const button = page.locator('live-marbles').getByRole('button')
      // The label does not change below the pointer.
      await button.hover()
      if ((await button.innerText()) === 'Cut the network') await button.click()
      await reads(page.getByRole('status'), 'Stale')
    })
  })

  it.each([
    ['a guide', GUIDE],
    ['a guide with tables', '/errors.html'],
    ['a name of the reference', '/api/client/key.html'],
    ['an entry of the reference', '/api/client.html'],
    ['a decision', '/decisions/durable-log.html'],
    ['the page for a missing address', '/nowhere.html'],
  ])('%s is accessible', async (_, path) => {
    await check(path, page => page.getByRole('heading', { level: 1 }).waitFor())
  })

  it('the search is accessible while it shows results', async () => {
    await check(GUIDE, search)
  })

  it('both menus of a phone are accessible', async () => {
    const menu = (name: string) => (page: Page) => page.getByRole('button', { name }).click()
    await check(GUIDE, menu('mobile navigation'), [PHONE])
    await check(GUIDE, menu('Menu'), [PHONE])
  })

  it('the search finds a guide before the names of the reference', async () => {
    const { page } = await open(`${await serveBuiltSite()}${GUIDE}`)
    await search(page)
    const found = await page.locator('.result').evaluateAll(links => links.map(link => link.getAttribute('href') ?? ''))
    const isReference = (link: string): boolean => link.includes('/api/')
    expect(found.filter(isReference)).not.toEqual([])
    expect(found.findIndex(isReference)).toBeGreaterThan(found.findIndex(link => link.includes('/locking')))
  })

  it('the bar and the text of a guide do not move while the page starts', async () => {
    const { page } = await open(`${await serveBuiltSite()}${GUIDE}`, {
      beforeLoad: async opened => {
        await opened.setViewportSize(DESKTOP)
        await opened.addInitScript(() => {
          const moved: number[] = []
          Reflect.set(globalThis, 'moved', moved)
          const observer = new PerformanceObserver(list => {
            for (const shift of list.getEntries()) moved.push(Reflect.get(shift, 'value'))
          })
          observer.observe({ type: 'layout-shift', buffered: true })
        })
      },
    })
    await page.locator('.VPNavBar.has-sidebar').waitFor()
    await painted(page)
    const moved = await page.evaluate<readonly number[]>(() => Reflect.get(globalThis, 'moved'))
    expect(moved.reduce((sum, value) => sum + value, 0)).toBeLessThan(0.01)
  })
})
