import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number, text } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { has, reads } from './support/waiting.js'

const SEED = [
  { key: 'temperature', value: '21.5' },
  { key: 'recipe', value: '{"flour":1000,"steps":["mix","bake"],"salt":1.20}' },
  { key: 'firmware', bytes: Buffer.from(Array.from({ length: 600 }, (_, i) => i % 256)).toString('base64') },
  { key: 'letter', value: 'Dear all,\n\tsee you.\n' },
]

describeInBrowser('An open key on the console', open => {
  it('the detail pane shows the history since the key was opened, with a chart of its numbers', async () => {
    const { store, server } = await startConsole(SEED)
    const key = openClient(store.url).key('temperature', text)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.open('temperature')
    const history = ui.detail.getByRole('region', { name: 'History' })
    await reads(history.getByRole('listitem'), /21\.5\s*initial/)

    const versions: string[] = []
    for (const value of ['22', '23.5', 'unknown', '19']) {
      const { version } = await firstValueFrom(key.set(value))
      versions.push(String(version))
      await reads(history.getByRole('listitem').first(), value)
    }
    await firstValueFrom(key.delete())
    await reads(history.getByRole('listitem').first(), 'deleted')
    await reads(ui.detail, 'The key was deleted.')
    const lines = await history.locator('.change-line').allInnerTexts()
    expect(lines).toEqual(['deleted', '19', 'unknown', '23.5', '22', '21.5'])
    expect(await history.locator('time').nth(1).getAttribute('title')).toBe(versions[3])

    const chart = ui.detail.getByRole('region', { name: 'Chart' })
    const drawing = chart.getByRole('img')
    expect(await drawing.getAttribute('aria-label')).toMatch(
      /^4 values in (\d+m )?\d+s, from 19\.0 to 23\.5, now 19\.0$/,
    )
    await drawing.locator('canvas').waitFor()
    await reads(chart, /lowest\s*19\.0\s*mean\s*[\d.]+\s*highest\s*23\.5/)
    await expect.poll(() => drawing.locator('canvas').evaluate(hasInk)).toBe(true)
  })

  it('the detail pane shows the metadata of the key', async () => {
    const { store, server } = await startConsole(SEED)
    const client = openClient(store.url)
    const lock = await firstValueFrom(client.key('lock', text).set('me'))
    const token = String(lock.version)
    const { version } = await firstValueFrom(
      client.key('speed', number).set(12, { fencingToken: token, expiresIn: 600_000 }),
    )
    client.key('speed', number).value$.subscribe()
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.open('speed')
    const fact = (name: string) => ui.detail.locator('.fact').filter({ hasText: name }).locator('dd')
    await reads(fact('Version'), String(version))
    await reads(fact('Fencing token'), token)
    await reads(fact('Expires'), /^in \dm \d\ds$/)
    await reads(fact('Watchers'), '1 + this page')
    await reads(fact('Size'), '2 bytes')
    await reads(fact('Freshness'), 'live')
  })

  it('the detail pane shows the full value, formatted by type', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    const value = ui.detail.getByRole('region', { name: 'Value' })
    await ui.open('recipe')
    await value.waitFor()
    expect(await value.innerText()).toBe(
      '{\n  "flour": 1000,\n  "steps": [\n    "mix",\n    "bake"\n  ],\n  "salt": 1.20\n}',
    )
    expect(await value.locator('.json-number').allInnerTexts()).toEqual(['1000', '1.20'])
    await ui.open('letter')
    await reads(value, 'Dear all,')
    expect(await value.locator('pre').textContent()).toBe('Dear all,\n\tsee you.\n')
    await ui.open('firmware')
    await reads(value, '0028')
    expect(await value.innerText()).toMatch(/0028\s*28 29 2A 2B 2C 2D 2E 2F\s*\(\)\*\+,-\.\//)
    expect(await value.locator('.dump-row').count()).toBe(64)
    await ui.press('Show all 600 bytes')
    await reads(value, '0250')
    expect(await value.locator('.dump-row').count()).toBe(75)
  })

  it('the URL has the open key, which a reload opens and Back closes', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.open('recipe')
    await expect
      .poll(() => new URL(page.url()).hash)
      .toBe(`#/keys/${Buffer.from('recipe').toString('hex').toUpperCase()}`)
    await page.reload()
    await reads(ui.detail, '"flour"')
    await has(ui.row('recipe'), 'aria-selected', 'true')
    await page.goBack()
    await ui.detail.waitFor({ state: 'detached' })
    await ui.row('recipe').waitFor()
  })
})

function hasInk(canvas: SVGElement | HTMLElement): boolean {
  if (!(canvas instanceof HTMLCanvasElement)) return false
  const pixels = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? []
  return new Uint32Array(new Uint8Array(pixels).buffer).some(pixel => pixel !== 0)
}
