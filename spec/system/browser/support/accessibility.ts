import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { THEMES } from './looks.js'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Fails with a line per element for which axe-core reports a violation, of any impact. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await faultsOf(page)).toEqual([])
}

/** Checks the page in the light and the dark theme. The page keeps the last one. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme })
    await expectAccessible(page)
  }
}

export async function faultsOf(page: Page): Promise<readonly string[]> {
  // The script is evaluated in the page, since the policy of the page may forbid other scripts.
  await page.evaluate(await readFile(AXE, 'utf8'))
  const { violations } = await page.evaluate(async () => {
    const options: RunOptions = { resultTypes: ['violations'] }
    const axe: { run(node: Document, options: RunOptions): Promise<AxeResults> } = Reflect.get(globalThis, 'axe')
    return axe.run(document, options)
  })
  return violations.flatMap(({ impact, id, help, nodes }) =>
    nodes.map(({ target, any, all, none }) => {
      const why = [...any, ...all, ...none].map(({ message }) => message)
      return `${impact}: ${id} (${help}) at ${target.join(' ')}: ${why.join('; ')}`
    }),
  )
}
