/** Two pixels a point, as on most screens. */
const SCALE = 2
/** The themes, with the ending of the name of their pictures. */
const THEMES = /** @type {const} */ ([
  ['light', ''],
  ['dark', '-dark'],
])

/**
 * Opens an address in both themes at the same time, so that their pictures show the same.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {{ readonly width: number, readonly height: number }} viewport
 */
export async function openInThemes(browser, url, viewport) {
  const pages = await Promise.all(
    THEMES.map(async ([colorScheme, ending]) => {
      const page = await browser.newPage({ viewport, deviceScaleFactor: SCALE, colorScheme })
      await page.goto(url)
      return { page, ending }
    }),
  )
  /** @param {(page: import('playwright-core').Page) => Promise<unknown>} act */
  const each = async act => {
    for (const { page } of pages) await act(page)
  }
  return {
    /** Calls a function for each page, one after the other. */
    each,
    /** Takes a picture of each page. @param {string} path - without its ending */
    shoot: async path => {
      for (const { page, ending } of pages) {
        await page.mouse.move(0, 0)
        await page.screenshot({ path: `${path}${ending}.png` })
      }
    },
    close: async () => each(page => page.close()),
  }
}
