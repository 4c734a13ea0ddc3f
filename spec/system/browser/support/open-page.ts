import type { Browser, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { Guard } from './guard.js'
import { SIZES, type Size, type Theme } from './looks.js'

export interface OpenOptions {
  /** The size of the window. Default `desktop`. */
  readonly size?: Size
  /** The colour theme. Default `light`. */
  readonly theme?: Theme
  /** Whether to emulate reduced motion. Default `false`. */
  readonly reducedMotion?: boolean
  /** Whether to emulate touch input. Default `false`. */
  readonly touch?: boolean
  /** Runs before the page loads. */
  readonly beforeLoad?: (page: Page) => Promise<void>
  /** Complaints that the guard ignores. `guard.allow` adds more. */
  readonly allow?: readonly RegExp[]
}

export interface OpenedPage {
  readonly page: Page
  readonly guard: Guard
}

/**
 * The timeout of a step in ms. Longer than any step takes, but shorter than a test's timeout, so that a failure
 * names its cause.
 */
const STEP_TIMEOUT_MS = 30_000

/** Opens a page, which is closed at the end of the test. The test fails if the guard has recorded complaints. */
export async function openPage(browser: Browser, url: string, options: OpenOptions = {}): Promise<OpenedPage> {
  const { size = 'desktop', theme = 'light', reducedMotion = false, touch = false, allow = [], beforeLoad } = options
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: theme,
    reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    hasTouch: touch,
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  const guard = new Guard(page)
  guard.allow(...allow)
  onTestFinished(async () => {
    await context.close()
    expect(guard.complaints).toEqual([])
  })
  await page.addInitScript(keepMessages)
  await beforeLoad?.(page)
  await page.goto(url)
  return { page, guard }
}

/** Keeps the texts that appear in logs, because a page shows messages for some seconds only. Runs before the page. */
function keepMessages(): void {
  const messages: string[] = []
  Object.assign(globalThis, { messages })
  const keep = (changes: readonly MutationRecord[]): void => {
    for (const { target, addedNodes } of changes)
      if (target instanceof Element && target.closest('[role=log]') !== null)
        for (const { textContent } of addedNodes) messages.push(textContent ?? '')
  }
  new MutationObserver(keep).observe(document, { childList: true, subtree: true })
}
