import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { describeInBrowser } from './support/browser.js'
import { builtPackage } from './support/package.js'
import { serveStatic } from './support/static-site.js'
import { reads } from './support/waiting.js'

const DIAGRAM = new URL('../../../site/demo/live-marbles.ts', import.meta.url).pathname
const HTML =
  '<!doctype html><title>x</title><link rel="icon" href="data:," /><script type="module" src="page.js"></script>' +
  '<live-marbles></live-marbles>'

async function diagram(): Promise<string> {
  const build = await rolldown({ input: DIAGRAM, platform: 'browser', external: ['ws'] })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  await build.close()
  return output[0].code
}

describeInBrowser('The diagram on the first page of the site', open => {
  it('values arrive, become stale while the network is cut, and are live again afterwards', async () => {
    const site = await serveStatic(builtPackage(), { '/index.html': HTML, '/page.js': await diagram() })
    const { page } = await open(site.url)
    const state = page.getByRole('status')
    const button = page.getByRole('button')
    const marbles = async (): Promise<number> => page.locator('.page circle').count()
    await reads(state, 'live')
    await expect.poll(marbles, { timeout: 20_000 }).toBeGreaterThan(1)
    await button.click()
    await reads(state, 'stale')
    await button.click()
    await reads(state, 'live')
    const before = await marbles()
    await expect.poll(marbles, { timeout: 20_000 }).toBeGreaterThan(before)
  })
})
