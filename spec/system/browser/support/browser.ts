import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { SERVICES } from '../../../support/services.js'
import { type OpenedPage, type OpenOptions, openPage } from './open-page.js'

/** Opens a URL in an isolated browser context, which is closed at the end of the test. */
export type Open = (url: string, options?: OpenOptions) => Promise<OpenedPage>

/** Defines a suite in a real browser that all suites share. The suite is skipped without a browser. */
export function describeInBrowser(name: string, body: (open: Open) => void): void {
  describe.skipIf(!SERVICES.chromium.present)(name, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      browser = await chromium.connect(inject('browser'))
    })
    // This closes the connection and its pages, and the browser keeps running.
    afterAll(async () => browser?.close())
    body(async (url, options) => {
      if (browser === undefined) throw new Error('Pages are opened in tests, not while they are collected')
      return openPage(browser, url, options)
    })
  })
}
