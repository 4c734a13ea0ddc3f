import type { Browser, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { Guard } from './guard.js'
import { SIZES, type Size, type Theme } from './looks.js'

/** How a page is opened. */
export interface OpenOptions {
  /** Default `desktop`. */
  readonly size?: Size
  /** Default `light`. */
  readonly theme?: Theme
  /** Asks the page for less motion. Default `false`. */
  readonly calm?: boolean
  /** A finger instead of a mouse. Default `false`. */
  readonly touch?: boolean
  /** What is to be done to the page before it loads. */
  readonly before?: (page: Page) => Promise<void>
  /** Complaints the guard does not count; more with `guard.allow`. */
  readonly allow?: readonly RegExp[]
}

/** A page and its guard. */
export interface OpenedPage {
  readonly page: Page
  readonly guard: Guard
}

/** Longer than anything takes, shorter than the test may, so that a failure says what was waited for; ms. */
const PATIENCE = 30_000

/** Opens a page, closed at the end of the test, which fails if the guard has to complain. */
export async function openPage(browser: Browser, url: string, options: OpenOptions = {}): Promise<OpenedPage> {
  const { size = 'desktop', theme = 'light', calm = false, touch = false, allow = [], before } = options
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: theme,
    reducedMotion: calm ? 'reduce' : 'no-preference',
    hasTouch: touch,
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const guard = new Guard(page)
  guard.allow(...allow)
  onTestFinished(async () => {
    await context.close()
    expect(guard.complaints).toEqual([])
  })
  await before?.(page)
  await page.goto(url)
  return { page, guard }
}
