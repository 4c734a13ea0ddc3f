import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { nightly } from '../../../support/effort.js'

/** The sizes of windows, in CSS pixels. */
export const SIZES = {
  phone: { width: 360, height: 800 },
  desktop: { width: 1280, height: 800 },
} as const

export const THEMES = ['light', 'dark'] as const

export type Size = keyof typeof SIZES
export type Theme = (typeof THEMES)[number]

const SCREENSHOTS = new URL('../screenshots/', import.meta.url).pathname

export interface PictureOptions {
  /** Whether to take the full page rather than the window. Default `false`. */
  readonly whole?: boolean
  readonly sizes?: readonly Size[]
  readonly themes?: readonly Theme[]
}

/**
 * Fails if the page is wider than a window of these sizes. The nightly run also takes screenshots for review, as
 * `screenshots/{name}.{size}.{theme}.png`, and leaves the page in the last theme. The page keeps the last size.
 */
export async function takePictures(page: Page, name: string, options: PictureOptions = {}): Promise<void> {
  const { whole = false, sizes = ['phone', 'desktop'], themes = THEMES } = options
  for (const size of sizes) {
    await page.setViewportSize(SIZES[size])
    await painted(page)
    await expectToFit(page)
    for (const theme of nightly(themes, [])) {
      await page.emulateMedia({ colorScheme: theme })
      await painted(page)
      await page.screenshot({ path: join(SCREENSHOTS, `${name}.${size}.${theme}.png`), fullPage: whole })
    }
  }
}

export async function expectToFit(page: Page): Promise<void> {
  const { content, room } = await page.evaluate(() => ({
    content: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
  }))
  expect(content, `the page is ${content} px wide in a window of ${room} px`).toBeLessThanOrEqual(room)
}

/** Resolves when the page is rendered: the fonts are loaded, two frames were painted, and finite animations have ended. */
export async function painted(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    await document.fonts.ready
    await frame()
    await frame()
    const isEnding = ({ effect }: Animation) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY
    const passing = document.getAnimations().filter(isEnding)
    await Promise.allSettled(passing.map(animation => animation.finished))
    await frame()
  })
}

/** Sums the layout shifts without user input. Runs before the page. */
export function countShifts(): void {
  Object.assign(globalThis, { shifted: 0 })
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
      const { value, hadRecentInput } = { value: 0, hadRecentInput: false, ...entry.toJSON() }
      if (!hadRecentInput) Object.assign(globalThis, { shifted: Reflect.get(globalThis, 'shifted') + Number(value) })
    }
  })
  observer.observe({ type: 'layout-shift', buffered: true })
}
