import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { SERVICES } from '../../../support/services.js'
import { type OpenedPage, type OpenOptions, openPage } from './open-page.js'

/** Opens a URL in an isolated browser context, closed at the end of the test. */
export type Open = (url: string, options?: OpenOptions) => Promise<OpenedPage>

/** A busy machine may take long to open a page, ms. */
const PATIENCE = 120_000

/** A suite in a real browser shared by all suites; skipped without one. */
export function describeInBrowser(name: string, body: (open: Open) => void): void {
  describe.skipIf(!SERVICES.chromium.present)(name, { timeout: PATIENCE }, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      browser = await chromium.connect(inject('browser'))
    }, PATIENCE)
    // Closes the connection and its pages; the browser keeps running.
    afterAll(async () => browser?.close(), PATIENCE)
    body(async (url, options) => {
      if (browser === undefined) throw new Error('Pages are opened in tests, not while they are collected')
      return openPage(browser, url, options)
    })
  })
}
