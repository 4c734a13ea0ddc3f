import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { filter, firstValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { number } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { openClient } from '../../support/open-client.js'
import { describeInBrowser } from './support/browser.js'
import { bundled } from './support/documents.js'
import { NO_SOCKET } from './support/guard.js'
import { builtPackage } from './support/package.js'
import { serveStatic } from './support/static-site.js'

const DOCUMENT = new URL('../../../docs/browser.md', import.meta.url)
const ADDRESS = 'wss://store.example.com/mqtt'
/** The packet types of MQTT 5.0, section 2.1.2. */
const [CONNECT, PINGREQ] = [1, 12]
const HTML =
  '<!doctype html><title>x</title><link rel="icon" href="data:," /><script type="module" src="page.js"></script>' +
  '<input type="range" min="10" max="30" step="0.5" />'
/** The tolerance for the sizes in the documentation. */
const TOLERANCE = 0.1

/** Returns the compressed size of code, in kB. */
const weightOf = (code: string): number => gzipSync(code, { level: 9 }).length / 1000

describeInBrowser('With a bundler', open => {
  it('the documented code connects, reads and writes under the documented security policy', async () => {
    const text = await readFile(DOCUMENT, 'utf8')
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(text) ?? []
    const [, policy = ''] = /```\n(default-src [^`]*)\n```/.exec(text) ?? []
    const store = await serve({ port: 0, wsPort: 0 })
    onTestFinished(async () => store.close())
    const { page: script } = await bundled(code.replace(ADDRESS, store.wsUrl))
    const site = await serveStatic(
      builtPackage(),
      { '/index.html': HTML, '/page.js': script },
      // The policy is extended for the icon of the spec's page.
      {
        'content-security-policy': `${policy.replace('wss://store.example.com', store.wsUrl).replaceAll('\n', ' ')}; img-src data:`,
      },
    )
    const key = openClient(store.url).key('thermostat1/setPoint', number)
    const { page } = await open(site.url)
    const slider = page.getByRole('slider')
    await firstValueFrom(key.set(22.5))
    await page.waitForFunction(() => document.querySelector('input')?.value === '22.5')
    await slider.fill('17')
    await firstValueFrom(key.value$.pipe(filter(value => value === 17)))
    // mqtt.js received the worker that keeps the connection alive.
    await expect.poll(() => page.workers().length).toBe(1)
  })

  it('a bundled page keeps its connection alive under a policy that forbids workers', async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    onTestFinished(async () => store.close())
    const { page: script } = await bundled(
      `import { connect, text } from 'rx-statestore'
      const { send } = WebSocket.prototype
      globalThis.packets = []
      WebSocket.prototype.send = function (bytes) {
        packets.push(bytes[0] >> 4)
        send.call(this, bytes)
      }
      const store = connect('${store.wsUrl}', { nativeTimers: true, keepAlive: 4_000 })
      store.key('a', text).value$.subscribe()`,
    )
    const policy = `default-src 'self'; connect-src 'self' ${store.wsUrl}; worker-src 'none'; img-src data:`
    const site = await serveStatic(
      builtPackage(),
      { '/index.html': HTML, '/page.js': script },
      { 'content-security-policy': policy },
    )
    const { page } = await open(site.url)
    const sent = async (type: number): Promise<number> => {
      const packets: readonly number[] = await page.evaluate('packets')
      return packets.filter(packet => packet === type).length
    }
    // The second PINGREQ is sent after the response to the first one.
    await expect.poll(() => sent(PINGREQ)).toBeGreaterThan(1)
    expect(await sent(CONNECT)).toBe(1)
    expect(page.workers()).toEqual([])
  })

  it('a page fails over to the next address and skips those a browser cannot use', async () => {
    const stores = [await serve({ port: 0, wsPort: 0 }), await serve({ port: 0, wsPort: 0 })]
    for (const store of stores) onTestFinished(async () => store.close())
    const { page: script } = await bundled(
      `import { connect } from 'rx-statestore'
      try { connect('mqtt://127.0.0.1:1883') } catch (error) { globalThis.refused = error.code + ' ' + error.message }
      const store = connect(${JSON.stringify(stores.map(({ wsUrl }) => wsUrl))})
      store.status$.subscribe(({ state, url }) => { globalThis.at = state + ' ' + url })`,
    )
    const site = await serveStatic(builtPackage(), { '/index.html': HTML, '/page.js': script }, {})
    const { page } = await open(site.url, { allow: [NO_SOCKET] })
    const at = async (): Promise<unknown> => page.evaluate('at')
    await expect.poll(at).toMatch(/^connected /)
    expect(await page.evaluate('refused')).toMatch(/^argument .*begins with ws:\/\/ or wss:\/\//)
    const [home, other] = (await at()) === `connected ${stores[0]?.wsUrl}` ? stores : [stores[1], stores[0]]
    await home?.close()
    await expect.poll(at).toBe(`connected ${other?.wsUrl}`)
  })

  it('bundle sizes match the documentation', async () => {
    const keys = `import { connect, number, set } from 'rx-statestore'
      import { fromEvent, map } from 'rxjs'
      globalThis.all = [connect, number, set, fromEvent, map]`
    const pubsub = `import { connectPubSub } from 'rx-statestore/pubsub'; globalThis.all = connectPubSub`
    const whole = await bundled(keys)
    const withoutMqtt = await bundled(keys, ['mqtt'])
    const ours = await bundled(keys, ['mqtt', 'rxjs'])
    const theirs = await bundled(pubsub, ['rxjs'])
    const withOptimistic = await bundled(
      `import { optimistic } from 'rx-statestore/optimistic'\n${keys}\nglobalThis.optimistic = optimistic`,
      ['mqtt', 'rxjs'],
    )
    const measured = {
      'rx-statestore': weightOf(ours.page),
      'rx-statestore/optimistic': weightOf(withOptimistic.page) - weightOf(ours.page),
      'mqtt.js': weightOf(whole.page) - weightOf(withoutMqtt.page),
      RxJS: weightOf(withoutMqtt.page) - weightOf(ours.page),
      'rx-statestore/pubsub': weightOf(theirs.page),
      protobuf: weightOf(theirs.later),
    }
    const text = await readFile(DOCUMENT, 'utf8')
    for (const [name, weight] of Object.entries(measured)) {
      const [, said] = new RegExp(`^\\| ${name}(?:,[^|]*)? \\| (\\d+) \\|$`, 'm').exec(text) ?? []
      expect(Math.abs(weight - Number(said)), `${name}: ${weight.toFixed(1)} kB`).toBeLessThan(1 + weight * TOLERANCE)
    }
  })
})
