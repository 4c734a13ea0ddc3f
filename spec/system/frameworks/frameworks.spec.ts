import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { firstValueFrom, map } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { number, type StateStore, systemClock, text } from '../../../src/client/index.js'
import type { StoreServer } from '../../../src/server/index.js'
import { requestsOf } from '../../support/client-requests.js'
import { layLink } from '../../support/link.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { compilers } from '../browser/support/compilers.js'
import { filesOf, programOf } from '../browser/support/documents.js'
import { NO_SOCKET } from '../browser/support/guard.js'
import { projectOf, snippets } from '../browser/support/snippets.js'
import { has, reads } from '../browser/support/waiting.js'
import { PAGES, SERVERS } from './programs.js'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const KEY = 'thermostat1/setPoint'
const REGISTERED = [`KEYNOTIFY ${KEY}`, `GET ${KEY}`]

/** Opens a store with the set point 20 and collects the requests of all clients except the spec's. */
async function open() {
  const { store } = await openStore({ clock: systemClock })
  const setPoint = openClient(store.url, { clientId: 'spec' }).key(KEY, number)
  await firstValueFrom(setPoint.set(20))
  return { store, setPoint, requests: requestsOf(store, clientId => clientId !== 'spec') }
}

const inTime = (condition: () => boolean) => expect.poll(condition, { timeout: 20_000, interval: 20 }).toBe(true)

describe('Snippets of docs/frameworks.md', () => {
  it('every snippet is run by this spec', () => {
    expect(snippets().map(({ section, file }) => `${section}: ${file}`)).toEqual([
      'In a framework, and without RxJS: store.ts',
      'React: set-point.tsx',
      'Writing: writable-set-point.tsx',
      'Angular: set-point.component.ts',
      'Svelte: SetPoint.svelte',
      'Vue: use-key.ts',
      'Vue: SetPoint.vue',
      'On a server: rendered-anywhere.tsx',
    ])
  })

  it('the snippets compile under strict settings', async () => {
    const folder = projectOf(snippets())
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const complaints = run(process.execPath, [tsc, '-p', folder]).then(
      () => '',
      ({ stdout }) => String(stdout),
    )
    expect(await complaints).toBe('')
  })
})

describeInBrowser('In a browser, the component for', openPage => {
  it.each(Object.entries(PAGES))(
    '%s shows its key through an outage and other changes, with one registration',
    async (name, main) => {
      const { store, setPoint, requests } = await open()
      const link = await layLink(store.wsUrl)
      const program = await programOf(name, main, link.url.replace('mqtt:', 'ws:'))
      const { page } = await openPage(await servePage(program), { allow: [NO_SOCKET] })
      const output = page.locator('output')
      await reads(output, '20 °C')
      await has(output, 'data-freshness', 'live')
      expect(requests()).toEqual(REGISTERED)
      await firstValueFrom(setPoint.set(21))
      await reads(output, '21 °C')
      link.cut()
      await has(output, 'data-freshness', 'stale')
      await reads(output, '21 °C')
      await firstValueFrom(setPoint.set(22))
      link.restore()
      await reads(output, '22 °C')
      await has(output, 'data-freshness', 'live')
      expect(store.stats.watches).toBe(1)
      await page.evaluate('unmount()')
      await inTime(() => store.stats.watches === 0)
    },
  )

  it.each([
    { name: 'React', output: /^20 °C$/, freshness: 'stale', alert: /closed permanently/, thrown: 0 },
    { name: 'Angular', output: /^throws closed$/, freshness: 'live', thrown: 0 },
    { name: 'Svelte', output: /^20 °C$/, freshness: 'stale', thrown: 2 },
    { name: 'Vue', output: /^20 °C$/, freshness: 'stale', thrown: 0 },
  ] as const)(
    '$name shows the documented output and error when the watch fails',
    async ({ name, thrown, ...expected }) => {
      const { store } = await open()
      const clients = record(store.requests$.pipe(map(({ clientId }) => clientId)))
      const { page, guard } = await openPage(await servePage(await programOf(name, PAGES[name], store.wsUrl)))
      await reads(page.locator('output'), '20 °C')
      // A client with the same id closes the connection of the component permanently.
      openClient(store.url, { clientId: clients.values[0] ?? '' })
      if ('alert' in expected) await reads(page.getByRole('alert'), expected.alert)
      await reads(page.locator('output'), expected.output)
      await has(page.locator('output'), 'data-freshness', expected.freshness)
      await expect.poll(() => guard.complaints.length).toBe(thrown)
      guard.allow(/^thrown: ClosedError/)
    },
  )

  it('the React component for writing writes its key', async () => {
    const { store } = await open()
    const { page } = await openPage(await servePage(await programOf('React', PAGES.React, store.wsUrl)))
    await reads(page.locator('output'), '20 °C')
    await page.getByRole('button', { name: 'warmer' }).click()
    await reads(page.locator('output'), '20.5 °C')
    expect(await page.getByRole('alert').innerText()).toBe('')
  })
})

describe('Server rendering', () => {
  interface Rendering {
    readonly store: StateStore | undefined
    readonly render: () => Promise<string>
  }

  async function serverOf(section: keyof typeof SERVERS, { wsUrl }: StoreServer): Promise<Rendering> {
    const folder = projectOf([...filesOf(section, wsUrl), { file: 'main.ts', code: SERVERS[section] }])
    const code = await bundle(join(folder, 'main.ts'), { plugins: compilers(true), isServer: true })
    writeFileSync(join(folder, 'server.mjs'), code)
    const rendering: Rendering = await import(join(folder, 'server.mjs'))
    onTestFinished(async () => rendering.store?.close())
    return rendering
  }

  it.each([
    ['React', 'On a server', []],
    ['Vue', 'Vue', ['GET marker']],
    ['Svelte', 'Svelte', [`KEYNOTIFY ${KEY}`, 'GET marker', `GET ${KEY}`, `KEYNOTIFY ${KEY} STOP`]],
  ] as const)(
    'on a server, the %s component renders no value and sends only documented requests',
    async (_, section, asked) => {
      const { store, requests } = await open()
      const { store: client, render } = await serverOf(section, store)
      const settled = async () => client && (await firstValueFrom(client.key('marker', text).get()))
      await settled()
      const before = requests().length
      expect(await render()).toMatch(/<output data-freshness="connecting">.*–.*°C/)
      await settled()
      await inTime(() => requests().length - before >= asked.length)
      expect(requests().slice(before)).toEqual(asked)
      expect(store.stats.watches).toBe(0)
    },
  )
})
