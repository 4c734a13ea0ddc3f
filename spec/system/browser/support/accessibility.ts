import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { painted } from './looks.js'

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** The rules of axe-core that compare colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Fails with a line per element for which axe-core reports a violation, of any impact. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await faultsOf(page)).toEqual([])
}

/**
 * Checks the page in the light theme, and its colours in the dark theme, because the themes differ only in colours. The
 * page keeps the dark theme.
 */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await faultsOf(page, COLOUR_RULES)).toEqual([])
}

/** Returns a line per violation of the rules. Default: all rules. */
export async function faultsOf(page: Page, rules?: string[]): Promise<readonly string[]> {
  // Text that fades in has too little contrast.
  await painted(page)
  // The script is evaluated in the page, since the page's policy may forbid other scripts.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await axe)
  const { violations } = await page.evaluate(async runOnly => {
    const options: RunOptions = { resultTypes: ['violations'], ...(runOnly && { runOnly }) }
    const axe: { run(node: Document, options: RunOptions): Promise<AxeResults> } = Reflect.get(globalThis, 'axe')
    return axe.run(document, options)
  }, rules)
  return violations.flatMap(({ impact, id, help, nodes }) =>
    nodes.map(({ target, any, all, none }) => {
      const why = [...any, ...all, ...none].map(({ message }) => message)
      return `${impact}: ${id} (${help}) at ${target.join(' ')}: ${why.join('; ')}`
    }),
  )
}
