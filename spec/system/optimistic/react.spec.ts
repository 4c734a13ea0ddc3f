import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { lastValueFrom, NEVER } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { number, systemClock } from '../../../src/client/index.js'
import { useWritableKey } from '../../../src/client/react/writable.js'
import { requestsOf } from '../../support/client-requests.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { fakeStore } from '../../support/operator-session.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { NO_SOCKET } from '../browser/support/guard.js'
import { reads } from '../browser/support/waiting.js'
import type { Controls } from './support/react-program.js'

declare const bench: Controls
declare const rerender: (to: number) => void
declare const unmount: () => void

const PROGRAM = new URL('support/react-program.ts', import.meta.url).pathname

describeInBrowser('a component that writes a key', open => {
  let program = ''
  beforeAll(async () => {
    program = await bundle(PROGRAM)
  })

  async function start(isShared = false) {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const setPoint = client.key('setPoint', number)
    await setPoint.set(20)
    const link = await layLink(store.wsUrl)
    const requests = requestsOf(store, clientId => clientId === 'page')
    const { page } = await open(`${await servePage(program)}?store=${link.url.replace('mqtt:', 'ws:')}`, {
      allow: [NO_SOCKET],
    })
    await page.evaluate(shared => bench.show(shared), isShared)
    const dial = (title = 'one') => page.getByTitle(title, { exact: true })
    await reads(dial(), /^20 confirmed$/)
    return { store, setPoint, link, page, dial, requests }
  }

  it('a write is shown immediately, with one registration and a stable setter', async () => {
    const { setPoint, link, page, dial, requests } = await start()
    link.stall('down')
    await dial().click()
    await reads(dial(), /^21 pending busy$/)
    link.resume()
    await reads(dial(), /^21 confirmed$/)
    for (let to = 2; to <= 10; to++) await page.evaluate(n => rerender(n), to)
    await page.getByTitle('step 10').waitFor()
    expect((await lastValueFrom(setPoint.get())).value).toBe(21)
    expect(await page.evaluate(() => bench.setters())).toBeLessThanOrEqual(2)
    expect(requests().filter(request => request.startsWith('KEYNOTIFY'))).toEqual(['KEYNOTIFY setPoint'])
    await page.evaluate(() => unmount())
    await page.evaluate(() => bench.settled())
    expect(
      requests()
        .filter(request => request.startsWith('KEYNOTIFY'))
        .at(-1),
    ).toBe('KEYNOTIFY setPoint STOP')
  })

  it('conflicts are merged by the function of the latest rendering', async () => {
    const { setPoint, link, page, dial } = await start()
    await page.evaluate(() => rerender(100))
    await page.getByTitle('step 100').waitFor()
    link.stall('down')
    await setPoint.set(1_000)
    await dial().click()
    link.resume()
    await reads(dial(), /^1121 confirmed$/)
  })

  it('components that share a view share its writes', async () => {
    const { link, dial } = await start(true)
    link.stall('down')
    await dial('one').click()
    await reads(dial('two'), /^21 pending busy$/)
    link.resume()
    await reads(dial('two'), /^21 confirmed$/)
  })
})

describe('useWritableKey', () => {
  const { store } = fakeStore(() => NEVER)
  const rendered = (key: Parameters<typeof useWritableKey<number>>[0]) => {
    const Dial = () => {
      const [value, , { state, isPending }] = useWritableKey(key)
      return createElement('output', null, `${value} ${state} ${isPending}`)
    }
    return renderToString(createElement(Dial))
  }

  it('rendering on a server returns the initial state, with and without a key', () => {
    expect(rendered(store.key('a', number))).toBe('<output>undefined connecting false</output>')
    expect(rendered(undefined)).toBe('<output>undefined connecting false</output>')
  })

  it('throws for a value that is not a key', () => {
    // @ts-expect-error a name is not a key
    expect(() => rendered('a')).toThrow('Expected a key of a store')
  })
})
