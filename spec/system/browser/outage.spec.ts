import type { Page } from 'playwright-core'
import { lastValueFrom } from 'rxjs'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { boolean, type Codec, json, number } from '../../../src/client/index.js'
import { type StoreServer, serve } from '../../../src/server/index.js'
import { openHub } from '../../pubsub/support/open-hub.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { PAGES, WRITABLE } from '../frameworks/programs.js'
import { BODY, recipes } from '../optimistic/support/recipes.js'
import { describeInBrowser } from './support/browser.js'
import { blocksOf, bundled, documented, programOf } from './support/documents.js'
import { NO_SOCKET } from './support/guard.js'
import { builtPackage } from './support/package.js'
import { serveStatic } from './support/static-site.js'
import { reads } from './support/waiting.js'

/** The duration of the outage in ms, longer than a request's timeout. */
const OUTAGE = 15_000
const SET_POINT = 'thermostat1/setPoint'
const SLIDER =
  '<!doctype html><title>x</title><link rel="icon" href="data:," /><script type="module" src="page.js"></script>' +
  '<input type="range" min="10" max="30" step="0.5" />'

/**
 * Opens a store on disk that can be stopped and restarted at the same addresses, and a page with a controlled clock.
 */
async function openWorld() {
  const data = temporaryFolder()
  const [port, wsPort] = [await freePort(), await freePort()]
  let store: StoreServer = await serve({ port, wsPort, data })
  const { url, wsUrl } = store
  onTestFinished(async () => store.close())
  const client = openClient(url)
  const stored = async <T>(key: string, codec: Codec<T>): Promise<T | undefined> =>
    (await lastValueFrom(client.key(key, codec).get())).value
  return {
    client,
    wsUrl,
    stored,
    /** Stops the store, and restarts it after `OUTAGE` ms of page time. */
    outage: async (page: Page, meanwhile: () => Promise<void>): Promise<void> => {
      await store.close()
      await meanwhile()
      await page.clock.runFor(OUTAGE)
      store = await serve({ port, wsPort, data })
    },
  }
}

/** Advances the clock of the page past its retry delays. */
const until = async (page: Page, condition: () => Promise<boolean>): Promise<void> => {
  while (!(await condition())) await page.clock.runFor(500)
}

const before = (page: Page): Promise<void> => page.clock.install()

describeInBrowser('Through an outage of 15 s', open => {
  const openPage = async (url: string): Promise<Page> =>
    (await open(url, { allow: [NO_SOCKET], beforeLoad: before })).page
  const moved = async (page: Page, value: string): Promise<void> => page.getByRole('slider').first().fill(value)
  const position = async (page: Page): Promise<string> => page.getByRole('slider').first().inputValue()

  /**
   * Checks that the last value set during the outage is written, and that later writes of the page and of other clients
   * are shown.
   */
  async function expectSlider(
    page: Page,
    { client, outage, stored }: Awaited<ReturnType<typeof openWorld>>,
    key: string,
  ) {
    await client.key(key, number).set(20)
    await until(page, async () => (await position(page)) === '20')
    await outage(page, async () => {
      for (const value of ['21', '22', '25']) await moved(page, value)
    })
    await until(page, async () => (await stored(key, number)) === 25)
    await moved(page, '27')
    await until(page, async () => (await stored(key, number)) === 27)
    await client.key(key, number).set(19)
    await until(page, async () => (await position(page)) === '19')
  }

  it('the bundled slider page writes the last value set during the outage', async () => {
    const world = await openWorld()
    const [code = ''] = await blocksOf('docs/browser.md', 'js')
    const { page: script } = await bundled(code.replace('wss://store.example.com/mqtt', world.wsUrl))
    const site = await serveStatic(builtPackage(), { '/index.html': SLIDER, '/page.js': script })
    await expectSlider(await openPage(site.url), world, SET_POINT)
  })

  it('the page without a bundler recovers after the outage', async () => {
    const world = await openWorld()
    const site = await serveStatic(builtPackage(), await documented(0, { 'ws://localhost:8083': world.wsUrl }))
    await expectSlider(await openPage(site.url), world, SET_POINT)
  })

  it('a page that paints once per frame recovers after the outage', async () => {
    const { client, wsUrl, outage } = await openWorld()
    const [, code = ''] = await blocksOf('docs/browser.md', 'js')
    const prelude = `import { connect, number } from 'rx-statestore'
      import { animationFrames, of } from 'rxjs'
      const store = connect('${wsUrl}')
      const names = ['a', 'b']
      const cells = new Map(names.map(name => [name, document.body.appendChild(document.createElement('p'))]))\n`
    const { page: script } = await bundled(prelude + code)
    const site = await serveStatic(builtPackage(), { '/index.html': SLIDER, '/page.js': script })
    const page = await openPage(site.url)
    const shows = (text: string) => async () => (await page.locator('p').allInnerTexts()).join() === text
    await client.key('a', number).set(1)
    await until(page, shows('1,'))
    await outage(page, async () => undefined)
    await client.key('b', number).set(2)
    await until(page, shows('1,2'))
  })

  it('the pub/sub page recovers after a failed send', async () => {
    const { hub } = await openHub()
    const link = await layLink(hub.url)
    const address = new URL(hub.url)
    address.port = new URL(link.url).port
    const site = await serveStatic(
      builtPackage(),
      await documented(1, { "'ws://localhost:8080/client/hubs/plant'": `'${address.href}', { timeout: 10_000 }` }),
    )
    const page = await openPage(site.url)
    const say = async (text: string): Promise<void> => {
      await page.getByLabel('Say').fill(text)
      await page.getByRole('button').click()
    }
    const heard = (text: string) => async () => (await page.locator('li', { hasText: text }).count()) > 0
    await until(page, async () => (await page.getByRole('status').innerText()) === 'connected')
    link.cut()
    await say('in vain')
    await page.clock.runFor(OUTAGE)
    await reads(page.locator('li'), /^\(not sent: /)
    link.restore()
    await until(page, async () => (await page.getByRole('status').innerText()) === 'connected')
    await say('later')
    await until(page, heard('later'))
    hub.sendToGroup('line-1', 'from the hub')
    await until(page, heard('from the hub'))
  })

  describe('the recipes for writing', () => {
    let program = ''
    beforeAll(async () => {
      program = await bundle('recipes', { plugins: [recipes()] })
    })

    async function openRecipes() {
      const world = await openWorld()
      const page = await openPage(`${await servePage(program, BODY)}?store=${world.wsUrl}`)
      await until(page, async () => (await page.title()) === 'connected')
      return { world, page }
    }

    it('the slider recipe recovers after the outage', async () => {
      const { world, page } = await openRecipes()
      await expectSlider(page, world, 'lamp/brightness')
    })

    it('the switch, form and list recipes recover after the outage', async () => {
      const { world, page } = await openRecipes()
      const { client, outage, stored } = world
      await until(page, async () => (await page.locator('#saved').textContent()) === '"nothing yet"')
      await outage(page, async () => {
        await page.locator('#button').click()
        await page.locator('[name=degrees]').fill('180')
        await page.locator('#save').click()
        await page.locator('#input').fill('bread')
        await page.locator('#add').click()
      })
      // The form was waiting, and no other client has saved.
      await until(page, async () => (await stored('oven/recipe', json())) !== undefined)
      // The switch must not turn on later, and the timeout of the list was 10 s.
      expect(await stored('pump/on', boolean)).toBeUndefined()
      expect(await stored('shopping', json())).toBeUndefined()
      await page.locator('#button').click()
      await until(page, async () => (await stored('pump/on', boolean)) === true)
      await client.key('shopping', json()).set(['milk'])
      await page.locator('#input').fill('salt')
      await page.locator('#add').click()
      await until(page, async () => String(await stored('shopping', json())) === 'milk,salt')
      expect(await page.locator('#dialog').isVisible()).toBe(false)
    })
  })

  it.each(Object.entries(PAGES))('the component for %s continues after the outage', async (name, main) => {
    const { client, wsUrl, outage } = await openWorld()
    await client.key(SET_POINT, number).set(20)
    const page = await openPage(await servePage(await programOf(name, main, wsUrl)))
    const output = page.locator('output')
    const shows = (text: string) => async () => (await output.innerText()) === text
    await until(page, shows('20 °C'))
    await outage(page, async () => undefined)
    await client.key(SET_POINT, number).set(21)
    await until(page, shows('21 °C'))
    await until(page, async () => (await output.getAttribute('data-freshness')) === 'live')
  })

  it('the writing React component recovers after the outage', async () => {
    const { client, wsUrl, outage, stored } = await openWorld()
    await client.key(SET_POINT, number).set(20)
    const page = await openPage(await servePage(await programOf('Writing', WRITABLE, wsUrl)))
    const press = () => page.getByRole('button', { name: 'warmer' }).click()
    await until(page, async () => (await page.locator('output').innerText()) === '20 °C')
    await outage(page, press)
    await until(page, async () => /was not sent/.test(await page.getByRole('alert').innerText()))
    await client.key(SET_POINT, number).set(21)
    await until(page, async () => (await page.locator('output').innerText()) === '21 °C')
    await press()
    await until(page, async () => (await stored(SET_POINT, number)) === 21.5)
  })
})
