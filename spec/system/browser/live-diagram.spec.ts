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
  /** Opens the diagram, which cuts its network after five seconds unless the pointer is on its button. */
  async function openDiagram() {
    const site = await serveStatic(builtPackage(), { '/index.html': HTML, '/page.js': await diagram() })
    const { page } = await open(site.url)
    const marbles = async (): Promise<number> => page.locator('.page circle').count()
    return { state: page.getByRole('status'), button: page.getByRole('button'), marbles }
  }

  it('values arrive, become stale while the network is cut, and are live again afterwards', async () => {
    const { state, button, marbles } = await openDiagram()
    await button.hover()
    if ((await button.innerText()) === 'Connect again') await button.click()
    await reads(state, 'live')
    await expect.poll(marbles).toBeGreaterThan(1)
    await button.click()
    await reads(state, 'stale')
    await button.click()
    await reads(state, 'live')
    const before = await marbles()
    await expect.poll(marbles).toBeGreaterThan(before)
  })

  it('the network is cut and connected again without a click', async () => {
    const { state, button } = await openDiagram()
    await reads(button, 'Connect again')
    await reads(state, 'stale')
    await reads(button, 'Cut the network')
    await reads(state, 'live')
  })
})
