import type { Page } from 'playwright-core'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number, text } from '../../../src/client/index.js'
import { nightly } from '../../support/effort.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessible, expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { takePictures } from './support/looks.js'
import { reads } from './support/waiting.js'

/** The number of keys in a large tree. */
const MANY = nightly(20_000, 8_000)
const SEED = [
  ...[1, 2, 3].flatMap(line =>
    ['speed', 'state', 'recipe/name', 'recipe/step'].map(name => ({
      key: `plant/line-${line}/${name}`,
      value: name === 'state' ? 'running' : String(line * 7),
    })),
  ),
  ...Array.from({ length: 12 }, (_, i) => ({ key: `sensor/${i}`, value: JSON.stringify({ celsius: 20 + i / 2 }) })),
  { key: 'site/nantes/building/4/alarm', value: 'off' },
  { key: 'site/nantes/building/4/door', value: 'closed' },
  { key: 'thermostat1\\setPoint', value: '21.5' },
  { keyBytes: '/wA=', bytes: 'AAEC' },
]

const rows = (page: Page): Promise<readonly string[]> =>
  page.locator('.grid-body .grid-row').evaluateAll(all =>
    all
      .map(row => ({
        at: Number(row.getAttribute('aria-rowindex')),
        text: [
          '  '.repeat(Number(row.getAttribute('aria-level')) - 1),
          row.hasAttribute('aria-expanded') ? (row.getAttribute('aria-expanded') === 'true' ? 'v ' : '> ') : '',
          row.querySelector('.key-name, .branch-name')?.textContent ?? '',
          ` ${row.querySelector('.branch-keys')?.firstChild?.textContent ?? ''}`.trimEnd(),
        ].join(''),
      }))
      .sort((a, b) => a.at - b.at)
      .map(({ text }) => text),
  )

const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(() => document.activeElement?.querySelector('.cell-key, .cell-branch')?.getAttribute('title'))

const CLOSED = ['0xFF00', '> plant/ 12', '> sensor/ 12', '> site/nantes/building/4/ 2', 'thermostat1\\setPoint']

describeInBrowser('The tree of keys on the console', open => {
  it('the tree groups keys by slashes and shows live values in open branches', async () => {
    const { store, server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await reads(ui.cell('sensor/1', 'value'), 'celsius')
    await ui.press('Tree')
    await expect.poll(() => rows(page)).toEqual(CLOSED)
    await ui.branch('plant/').click()
    await ui.branch('plant/line-2/').click()
    await reads(ui.cell('plant/line-2/speed', 'value'), '14')
    expect((await rows(page)).slice(1, 7)).toEqual([
      'v plant/ 12',
      '  > line-1/ 4',
      '  v line-2/ 4',
      '    > recipe/ 2',
      '    speed',
      '    state',
    ])
    const client = openClient(store.url)
    await firstValueFrom(client.key('plant/line-2/speed', number).set(15))
    await reads(ui.cell('plant/line-2/speed', 'value'), '15')
    await firstValueFrom(client.key('plant/line-2/alarm', text).set('on'))
    await reads(ui.cell('plant/line-2/alarm', 'value'), 'on')
    await reads(ui.branch('plant/'), '13')
    // Only visible keys are watched: three in the open branch, a binary key and a key without a slash.
    const pageClient = () => store.clients.find(({ watches }) => watches > 0)?.watches
    await expect.poll(pageClient).toBe(5)
  })

  it('arrow keys navigate the tree', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    await reads(new ConsolePage(page).cell('sensor/1', 'value'), 'celsius')
    await page.keyboard.press('t')
    await expect.poll(() => rows(page)).toEqual(CLOSED)
    const steps: readonly (readonly [key: string, title: string, rows?: number])[] = [
      ['ArrowDown', '0xFF00'],
      ['ArrowRight', '0xFF00'],
      ['ArrowDown', 'plant/'],
      ['ArrowLeft', 'plant/', 5],
      ['ArrowRight', 'plant/', 8],
      ['ArrowRight', 'plant/line-1/'],
      ['*', 'plant/line-1/', 17],
      ['ArrowRight', 'plant/line-1/recipe/'],
      ['ArrowDown', 'plant/line-1/speed'],
      ['ArrowLeft', 'plant/line-1/'],
      ['ArrowLeft', 'plant/line-1/', 14],
      ['ArrowLeft', 'plant/'],
      ['Enter', 'plant/', 5],
      [' ', 'plant/', 14],
      ['End', 'thermostat1\\setPoint'],
      ['Home', '0xFF00'],
    ]
    for (const [key, title, count] of steps) {
      await page.keyboard.press(key)
      await expect.poll(() => focused(page), { message: `after ${key}` }).toBe(title)
      if (count !== undefined) await expect.poll(async () => (await rows(page)).length).toBe(count)
    }
    const branch = new ConsolePage(page).branch('plant/line-3/')
    const names = ['role', 'aria-level', 'aria-posinset', 'aria-setsize', 'aria-expanded']
    const attributes = await Promise.all(names.map(name => branch.getAttribute(name)))
    expect(attributes).toEqual(['row', '2', '3', '3', 'true'])
  })

  it('the layout and open branches are remembered', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.press('Tree')
    await ui.branch('sensor/').click()
    await ui.row('sensor/11').waitFor()
    await page.reload()
    await ui.row('sensor/11').waitFor()
    await ui.press('Tree')
    await expect.poll(() => page.getByRole('grid', { name: 'Keys' }).count()).toBe(1)
    await expect.poll(() => ui.keys()).toContain('plant/line-1/speed')
  })

  it('a search opens all branches, and clearing the search restores the branches that were open', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.press('Tree')
    await ui.branch('sensor/').click()
    await ui.search.fill('line-3')
    await expect
      .poll(() => rows(page))
      .toEqual(['v plant/line-3/ 4', '  v recipe/ 2', '    name', '    step', '  speed', '  state'])
    await ui.branch('plant/line-3/recipe/').click()
    await expect.poll(async () => (await rows(page)).length).toBe(4)
    await ui.search.fill('')
    await ui.row('sensor/11').waitFor()
    await expect.poll(async () => (await rows(page)).length).toBe(17)
  })

  it('the tree is not offered if no key has a slash', async () => {
    const { server } = await startConsole([{ key: 'a', value: '1' }])
    const { page } = await open(server.link)
    await reads(new ConsolePage(page).cell('a', 'value'), '1')
    expect(await page.getByRole('button', { name: 'Tree' }).count()).toBe(0)
  })

  it('the tree holds thousands of keys and indicates incomplete branches', async () => {
    const inWords = (count: number): string => count.toLocaleString('en')
    const seed = Array.from({ length: MANY }, (_, i) => ({ key: `site-${i % 8}/sensor/${i}`, value: String(i) }))
    const { server } = await startConsole(seed)
    const { page } = await open(server.link)
    const ui = new ConsolePage(page)
    await ui.press('Tree')
    await reads(page.locator('#found'), `2,000 of ${inWords(MANY)} shown`)
    await reads(ui.branch('site-3/sensor/'), /\d\+/)
    await reads(page.locator('.grid-gap'), `${inWords(MANY - 2_000)} keys are not shown`)
    for (let loaded = 4_000; loaded <= MANY; loaded += 2_000) {
      await ui.press('Load 2,000 more')
      await reads(
        page.locator('#found'),
        loaded === MANY ? `${inWords(MANY)} keys` : `${inWords(loaded)} of ${inWords(MANY)}`,
      )
    }
    await reads(ui.branch('site-3/sensor/'), inWords(MANY / 8))
    await ui.branch('site-3/sensor/').click()
    await expect.poll(() => ui.grid.getAttribute('aria-rowcount')).toBe(String(MANY / 8 + 9))
    expect((await ui.keys()).length).toBeLessThan(50)
  })

  it('the tree is accessible', async () => {
    const { server } = await startConsole(SEED)
    const { page } = await open(server.link, { reducedMotion: true })
    const ui = new ConsolePage(page)
    await ui.press('Tree')
    for (const path of ['plant/', 'plant/line-2/', 'plant/line-2/recipe/', 'site/nantes/building/4/'])
      await ui.branch(path).click()
    await reads(ui.cell('plant/line-2/recipe/step', 'value'), '14')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-tree')
    await ui.open('plant/line-2/recipe/step')
    await expectAccessible(page)
    await takePictures(page, 'console-tree-detail', { sizes: ['desktop'] })
  })
})
