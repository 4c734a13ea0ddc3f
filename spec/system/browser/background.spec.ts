import { setTimeout as sleep } from 'node:timers/promises'
import { firstValueFrom } from 'rxjs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { connectPubSub } from '../../../src/pubsub/client/index.js'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { serve } from '../../../src/server/index.js'
import { openClient } from '../../support/open-client.js'
import { bundled } from './support/documents.js'
import { builtPackage } from './support/package.js'
import { serveStatic } from './support/static-site.js'
import { type Chromium, startChromium, type Tab } from './support/tabs.js'

// These specs run with `BACKGROUND=1`, as in the nightly run, because a tab must be hidden for minutes of real time.
const IS_ENABLED = process.env['BACKGROUND'] !== undefined
const HIDDEN_MS = Number(process.env['BACKGROUND_MS'] ?? 480_000)
const PAUSE_MS = 90_000
const WRITE_EVERY_MS = 20_000
const LIMIT_MS = HIDDEN_MS + 180_000

const HTML =
  '<!doctype html><title>x</title><link rel="icon" href="data:," /><script type="module" src="page.js"></script>'
const OTHER = '<!doctype html><title>other</title><link rel="icon" href="data:," />other'

/** The page watches a key, an optimistic view and a group. It collects the losses and the last values. */
const pageScript = (url: string, hub: string): string => `
import { connect, text } from 'rx-statestore'
import { optimistic } from 'rx-statestore/optimistic'
import { connectPubSub } from 'rx-statestore/pubsub'
globalThis.losses = []
globalThis.last = {}
const store = connect('${url}')
store.status$.subscribe(({ state, cause }) => { if (state === 'reconnecting') losses.push('client: ' + cause.message) })
store.key('shown', text).value$.subscribe(value => { last.key = value })
const view = optimistic(store.key('written', text))
view.state$.subscribe(({ value }) => { last.view = value })
const client = connectPubSub('${hub}')
client.status$.subscribe(({ state }) => { if (state !== 'connecting' && state !== 'connected') losses.push('pub/sub: ' + state) })
client.group('g').messages$.subscribe(({ data }) => { last.message = data })
globalThis.write = value => view.set(value)
`

let chromium: Chromium
let url: string
let tab: Tab
/** Writes a value to both keys, and sends it to the group. */
let send: (value: string) => Promise<void>

const otherUrl = (): string => new URL('/other.html', url).href
const seen = async (): Promise<unknown> => JSON.parse(String(await tab.evaluate('JSON.stringify(last)')))
const losses = async (): Promise<unknown> => JSON.parse(String(await tab.evaluate('JSON.stringify(losses)')))
const all = (value: string): object => ({ key: value, view: value, message: value })
const shows = (value: string): Promise<void> =>
  expect
    .poll(seen, { timeout: 60_000, interval: 500 })
    .toEqual(all(value))
    .then(() => undefined)

describe.skipIf(!IS_ENABLED)('A page in the background', () => {
  beforeEach(async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    const hub = await servePubSub({ port: 0, authenticate: 'anonymous' })
    const hubUrl = `${hub.hub('h').url}`
    onTestFinished(async () => {
      await store.close()
      await hub.close()
    })
    const { page: script } = await bundled(pageScript(store.wsUrl ?? '', hubUrl))
    const site = await serveStatic(
      builtPackage(),
      { '/index.html': HTML, '/page.js': script, '/other.html': OTHER },
      {},
    )
    url = site.url
    const client = openClient(store.url)
    const sender = connectPubSub(hubUrl)
    onTestFinished(async () => sender.close())
    send = async value => {
      for (const key of ['shown', 'written']) await firstValueFrom(client.key(key, text).set(value))
      await firstValueFrom(sender.group('g').send(value))
    }
    chromium = await startChromium()
    tab = await chromium.openTab(url)
    // The page joins its group first.
    await expect
      .poll(
        async () => {
          await send('first')
          return seen()
        },
        { timeout: 30_000, interval: 500 },
      )
      .toEqual(all('first'))
  }, 60_000)

  const hide = async (): Promise<void> => {
    await chromium.openTab(otherUrl())
    await expect.poll(() => tab.evaluate('document.visibilityState')).toBe('hidden')
  }

  it('a tab that is hidden for minutes stays connected and receives every value', { timeout: LIMIT_MS }, async () => {
    await hide()
    const end = performance.now() + HIDDEN_MS
    let value = 'first'
    for (let i = 1; performance.now() < end; i++) {
      await sleep(WRITE_EVERY_MS)
      value = String(i)
      await send(value)
    }
    await shows(value)
    expect(await losses()).toEqual([])
    await tab.evaluate("write('from the page')")
    await expect.poll(seen).toMatchObject({ view: 'from the page' })
  })

  it('a tab that was frozen shows the last values when it resumes', { timeout: LIMIT_MS }, async () => {
    await hide()
    await tab.command('Page.setWebLifecycleState', { state: 'frozen' })
    await sleep(PAUSE_MS)
    await send('meanwhile')
    await tab.command('Page.setWebLifecycleState', { state: 'active' })
    await shows('meanwhile')
    await send('after')
    await shows('after')
  })

  it('a laptop that slept shows the last values when it wakes up', { timeout: LIMIT_MS }, async () => {
    const group = -(chromium.process.pid ?? expect.fail())
    process.kill(group, 'SIGSTOP')
    await sleep(PAUSE_MS)
    await send('meanwhile')
    process.kill(group, 'SIGCONT')
    await shows('meanwhile')
    await send('after')
    await shows('after')
  })

  it('a page that returns by the back button shows the last values', { timeout: LIMIT_MS }, async () => {
    await tab.evaluate(`location.href = '${otherUrl()}'`)
    await expect.poll(() => tab.evaluate('document.title')).toBe('other')
    await send('meanwhile')
    await tab.evaluate('history.back()')
    await expect.poll(() => tab.evaluate('document.title')).toBe('x')
    // A page that was not kept for the back button joins its group only after the message.
    await expect.poll(seen, { timeout: 60_000 }).toMatchObject({ key: 'meanwhile', view: 'meanwhile' })
    await expect
      .poll(
        async () => {
          await send('after')
          return seen()
        },
        { timeout: 60_000, interval: 500 },
      )
      .toEqual(all('after'))
  })
})
