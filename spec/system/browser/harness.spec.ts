import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { listen } from '../../support/listen.js'
import { expectAccessible, faultsOf } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { NO_SOCKET } from './support/guard.js'
import { expectToFit } from './support/looks.js'
import { has, reads } from './support/waiting.js'

async function serving(body: string): Promise<string> {
  const html = `<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:," /><main>${body}</main>`
  const server = createServer((request, response) => {
    if (request.url !== '/') response.writeHead(404).end()
    else response.setHeader('content-type', 'text/html').end(html)
  })
  return `http://127.0.0.1:${await listen(server)}/`
}

describeInBrowser('Support code of the browser specs', open => {
  it.each([
    ['logs an error', 'console.error("so wrong")', /^console: so wrong/],
    ['throws', 'throw new Error("ouch")', /^thrown: Error: ouch/],
    ['has an unhandled rejection', 'Promise.reject(new Error("ouch"))', /^thrown: Error: ouch/],
    ['loads a missing file', 'document.createElement("img").src = "/gone.png"', /status of 404.*gone\.png/],
    [
      'sends a request to an unreachable server',
      'fetch("http://127.0.0.1:1").catch(() => 0)',
      /^request: .* net::ERR_/,
    ],
    ['cannot open a WebSocket', 'new WebSocket("ws://127.0.0.1:4/")', NO_SOCKET],
  ])('the guard reports a page that %s', async (_what, script, complaint) => {
    const { page, guard } = await open(await serving('<h1>Fine</h1>'))
    expect(guard.complaints).toEqual([])
    await page.evaluate(`setTimeout(() => { ${script} })`)
    await expect.poll(() => guard.complaints.some(line => complaint.test(line))).toBe(true)
    guard.allow(/./)
  })

  it('the guard ignores permitted complaints', async () => {
    const { page, guard } = await open(await serving('<h1>Fine</h1>'), { allow: [/so wrong/] })
    await page.evaluate('console.error("so wrong"); console.error("and worse")')
    await expect.poll(() => guard.complaints.length).toBe(1)
    guard.allow(/and worse/)
    expect(guard.complaints).toEqual([])
  })

  it('the accessibility check reports faults', async () => {
    const { page } = await open(await serving('<h1>Fine</h1><button></button>'))
    expect(await faultsOf(page)).toEqual([expect.stringMatching(/^critical: button-name .* at button: /)])
    await page.locator('button').evaluate(button => button.append('Press'))
    await expectAccessible(page)
  })

  it('a page wider than its window is detected', async () => {
    const { page } = await open(await serving('<h1 style="width: 400px">Fine</h1>'), { size: 'phone' })
    await expect(expectToFit(page)).rejects.toThrow(/px wide in a window of 360 px/)
    await page.setViewportSize({ width: 500, height: 500 })
    await expectToFit(page)
  })

  it('a failed expectation reports the actual content of the page', async () => {
    const { page } = await open(await serving('<h1 data-state="live">Fine</h1>'))
    await reads(page.locator('h1'), 'Fine')
    await has(page.locator('h1'), 'data-state', 'live')
    page.setDefaultTimeout(500)
    await expect(reads(page.locator('h1'), 'Bad')).rejects.toThrow('it reads ["Fine"]')
    await expect(has(page.locator('h1'), 'data-state', 'stale')).rejects.toThrow('it is ["live"]')
  })
})
