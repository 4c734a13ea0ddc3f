import { filter, firstValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { number } from '../../../src/client/index.js'
import { type StoreServer, serve } from '../../../src/server/index.js'
import { openHub } from '../../pubsub/support/open-hub.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessible } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { documented } from './support/documents.js'
import { NO_SOCKET } from './support/guard.js'
import { builtPackage } from './support/package.js'
import { serveStatic } from './support/static-site.js'
import { reads } from './support/waiting.js'

const KEYS = 0
const PUBSUB = 1
const PROTOBUF_CODEC = '/node_modules/rx-statestore/dist/chunks/protobuf-client-codec.js'

/** Opens a store that uses the current time, as the page does. */
async function openStore(host?: string): Promise<StoreServer> {
  const store = await serve({ port: 0, wsPort: 0, ...(host !== undefined && { host }) })
  onTestFinished(async () => store.close())
  return store
}

describeInBrowser('Without a bundler', open => {
  it('the documented page reads, writes and watches keys', async () => {
    const store = await openStore()
    const client = openClient(store.url)
    const setPoint = client.key('thermostat1/setPoint', number)
    const site = await serveStatic(builtPackage(), await documented(KEYS, { 'ws://localhost:8083': store.wsUrl }))
    const { page } = await open(site.url)
    await reads(page.locator('output'), 'not set')
    await reads(page.locator('small'), 'live')
    await firstValueFrom(setPoint.set(21.5))
    await reads(page.locator('output'), '21.5')
    await page.getByRole('slider').fill('23')
    await firstValueFrom(setPoint.value$.pipe(filter(value => value === 23)))
    await reads(page.locator('output'), '23')
    await expectAccessible(page)
  })

  it('the page connects to a store by an IPv6 address', async () => {
    const store = await openStore('::1')
    const site = await serveStatic(builtPackage(), await documented(KEYS, { 'ws://localhost:8083': store.wsUrl }))
    const { page } = await open(site.url)
    await reads(page.locator('small'), 'live')
    expect(store.wsUrl).toMatch(/^ws:\/\/\[::1\]:/)
  })

  it('a page receives the changes that were made while its connection was lost', async () => {
    const store = await openStore()
    const link = await layLink(store.wsUrl)
    const client = openClient(store.url)
    const address = link.url.replace('mqtt:', 'ws:')
    const site = await serveStatic(builtPackage(), await documented(KEYS, { 'ws://localhost:8083': address }))
    const { page } = await open(site.url, { allow: [NO_SOCKET] })
    await reads(page.locator('small'), 'live')
    link.cut()
    await reads(page.locator('small'), 'stale')
    await firstValueFrom(client.key('thermostat1/setPoint', number).set(19))
    link.restore()
    await reads(page.locator('output'), '19')
    await reads(page.locator('small'), 'live')
  })

  it.each(['json', 'protobuf'])(
    'pub/sub in %s sends, receives, and recovers over the native WebSocket',
    async protocol => {
      const { hub, sessionLog } = await openHub()
      const link = await layLink(hub.url)
      const address = new URL(hub.url)
      address.port = new URL(link.url).port
      const site = await serveStatic(
        builtPackage(),
        await documented(PUBSUB, {
          "'ws://localhost:8080/client/hubs/plant'": `'${address.href}', { protocol: '${protocol}' }`,
        }),
      )
      const { page } = await open(site.url, { allow: [NO_SOCKET] })
      const heard = page.locator('li')
      const status = page.getByRole('status')
      await reads(status, 'connected')

      await page.getByLabel('Say').fill('from the page')
      await page.getByRole('button').click()
      await reads(heard, 'from the page')
      hub.sendToGroup('line-1', 'from the hub')
      await reads(heard.nth(1), 'from the hub')

      link.cut()
      await reads(status, 'recovering')
      hub.sendToGroup('line-1', 'while it was away')
      await page.getByLabel('Say').fill('said while away')
      await page.getByRole('button').click()
      link.restore()
      await reads(status, 'connected')
      await reads(heard.nth(3), /while/)
      const lines = await heard.allInnerTexts()
      expect(lines.slice(0, 2)).toEqual(['from the page', 'from the hub'])
      expect(lines.slice(2).sort()).toEqual(['said while away', 'while it was away'])
      expect(sessionLog).toEqual(['connected anonymous'])
      expect(site.requested.includes(PROTOBUF_CODEC)).toBe(protocol === 'protobuf')
      await expectAccessible(page)
    },
  )
})
