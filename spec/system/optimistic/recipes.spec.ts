import type { Page } from 'playwright-core'
import { lastValueFrom } from 'rxjs'
import { beforeAll, expect, it } from 'vitest'
import { boolean, json, number, systemClock } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { NO_SOCKET } from '../browser/support/guard.js'
import { BODY, ENTRY, recipes } from './support/recipes.js'

const pressed = (page: Page) =>
  page.locator('#button').evaluate(({ ariaPressed, ariaBusy }) => `${ariaPressed} ${ariaBusy}`)
const saved = (page: Page) => page.locator('#saved').textContent()
const noted = (page: Page) => page.locator('#note').textContent()

describeInBrowser('the recipes for writing', openPage => {
  let program = ''
  beforeAll(async () => {
    program = await bundle(ENTRY, { plugins: [recipes()] })
  })

  async function open() {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const link = await layLink(store.wsUrl)
    const { page } = await openPage(`${await servePage(program, BODY)}?store=${link.url.replace('mqtt:', 'ws:')}`, {
      allow: [NO_SOCKET],
    })
    await page.waitForFunction(() => document.title === 'connected')
    return { page, client, link }
  }

  it('the slider writes its position and follows other clients', async () => {
    const { page, client } = await open()
    const brightness = client.key('lamp/brightness', number)
    await page.locator('#slider').fill('70')
    await expect.poll(async () => (await lastValueFrom(brightness.get())).value).toBe(70)
    await brightness.set(30)
    await expect.poll(() => page.locator('#slider').inputValue()).toBe('30')
  })

  it('the switch changes at once, is busy until confirmed, and does not turn on later', async () => {
    const { page, client, link } = await open()
    const pump = client.key('pump/on', boolean)
    await page.locator('#button').click()
    await expect.poll(() => pressed(page)).toBe('true false')
    expect((await lastValueFrom(pump.get())).value).toBe(true)
    link.cut()
    await page.waitForFunction(() => document.title !== 'connected')
    await page.locator('#button').click()
    await expect.poll(() => noted(page)).toMatch(/^Not done: /)
    link.restore()
    await page.waitForFunction(() => document.title === 'connected')
    await expect.poll(() => pressed(page)).toBe('true false')
    expect((await lastValueFrom(pump.get())).value).toBe(true)
  })

  it('the form is saved and closed unless another client saved an unseen change', async () => {
    const { page, client } = await open()
    const recipe = client.key('oven/recipe', json())
    await expect.poll(() => saved(page)).toBe('"nothing yet"')
    await page.locator('[name=degrees]').fill('180')
    await page.locator('#save').click()
    await expect.poll(() => page.locator('#dialog').isVisible()).toBe(false)
    expect((await lastValueFrom(recipe.get())).value).toEqual({ degrees: '180' })
    expect(await noted(page)).toBe('')
  })

  it('the form first shows what another client has saved', async () => {
    const { page, client, link } = await open()
    const recipe = client.key('oven/recipe', json())
    await expect.poll(() => saved(page)).toBe('"nothing yet"')
    link.cut()
    await page.waitForFunction(() => document.title !== 'connected')
    await page.locator('[name=degrees]').fill('180')
    await page.locator('#save').click()
    await recipe.set({ degrees: '200' })
    link.restore()
    await expect.poll(() => noted(page)).toBe('Another page has saved {"degrees":"200"}. Save yours as well?')
    expect((await lastValueFrom(recipe.get())).value).toEqual({ degrees: '200' })
    await page.locator('#save').click()
    await expect.poll(() => page.locator('#dialog').isVisible()).toBe(false)
    expect((await lastValueFrom(recipe.get())).value).toEqual({ degrees: '180' })
  })

  it('the list keeps items that other clients have added', async () => {
    const { page, client } = await open()
    const shopping = client.key('shopping', json<readonly string[]>())
    await shopping.set(['bread'])
    for (const item of ['milk', 'salt']) {
      await page.locator('#input').fill(item)
      await page.locator('#add').click()
    }
    await expect
      .poll(async () => (await lastValueFrom(shopping.get())).value?.slice().sort())
      .toEqual(['bread', 'milk', 'salt'])
  })
})
