import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { number } from '../../../src/client/index.js'
import type { Authenticate } from '../../../src/server/index.js'
import { openClient } from '../../support/open-client.js'
import { expectAccessibleInBothThemes } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, type RunningConsole, startConsole } from './support/console.js'
import { takePictures } from './support/looks.js'
import { reads } from './support/waiting.js'

const SEED = [
  { key: 'line-1/speed', value: '12' },
  { key: 'recipe', value: 'bread' },
  { key: 'secret', value: 'x' },
]
const WRITER = `
- principals: { usernames: [writer] }
  brokerResources: [{ method: Connect }]
  stateStoreResources:
  - { method: ReadWrite, keyType: Pattern, keys: ["*"] }`
const authenticate: Authenticate = ({ username = '' }) => ({ principal: { username, attributes: {} } })

/** Starts a store whose policy has these rules for the page. */
const withPolicy = async (rules: string): Promise<RunningConsole> =>
  startConsole(SEED, { authenticate, policy: `${WRITER}${rules}` })

describeInBrowser('The rights of the console', open => {
  it('the page says that the broker refuses it, and as which user', async () => {
    const { server } = await withPolicy('')
    const { page } = await open(server.link, { reducedMotion: true })
    const ui = new ConsolePage(page)
    await reads(ui.health, 'no access')
    await reads(page.getByRole('main'), /No access\s*The broker refused .*: Not authorized/)
    await reads(page.getByRole('contentinfo'), /The broker refused .* retrying/)
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-no-access')
  })

  it('the page distinguishes keys that it may not read from an empty store', async () => {
    const { server } = await withPolicy(`
- principals: { usernames: [console] }
  brokerResources: [{ method: Connect }]`)
    const { page } = await open(server.link, { reducedMotion: true })
    await reads(page.getByRole('main'), /No readable keys\s*The store has 3 keys, but its policy/)
    await expectAccessibleInBothThemes(page)
  })

  it('a key that the page may not read is marked as such, and the other keys stay live', async () => {
    const { store, server } = await withPolicy(`
- principals: { usernames: [console] }
  brokerResources: [{ method: Connect }]
  stateStoreResources:
  - { method: Read, keyType: Pattern, keys: [recipe, "line-1/*"] }`)
    const { page } = await open(server.link, { reducedMotion: true })
    const ui = new ConsolePage(page)
    await reads(ui.cell('line-1/speed', 'value'), '12')
    await page.goto(new URL(`#/keys/${Buffer.from('secret').toString('hex').toUpperCase()}`, page.url()).href)
    await reads(ui.detail, 'The store does not let this page read the key.')
    await reads(ui.detail.locator('.fact').filter({ hasText: 'Freshness' }), 'no access')
    await expectAccessibleInBothThemes(page)
    await takePictures(page, 'console-unreadable')
    const writer = openClient(store.url, { username: 'writer' })
    await firstValueFrom(writer.key('line-1/speed', number).set(13))
    await reads(ui.cell('line-1/speed', 'value'), '13')

    await ui.open('recipe')
    await ui.press('Edit')
    await ui.fill({ Value: 'cake' })
    await ui.decide('Set')
    await reads(ui.dialog.getByRole('alert'), 'The policy of the store does not permit this page to do so.')
    await expectAccessibleInBothThemes(page)
    expect(Buffer.from(store.peek('recipe')?.value ?? []).toString()).toBe('bread')
  })
})
