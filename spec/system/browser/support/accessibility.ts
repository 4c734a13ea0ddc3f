import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Fails with a line per element for which axe-core reports a serious or critical violation. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await faultsOf(page)).toEqual([])
}

export async function faultsOf(page: Page): Promise<readonly string[]> {
  // The script is evaluated in the page, since the policy of the page may forbid other scripts.
  await page.evaluate(await readFile(AXE, 'utf8'))
  const { violations } = await page.evaluate(async () => {
    const options: RunOptions = { resultTypes: ['violations'] }
    const axe: { run(node: Document, options: RunOptions): Promise<AxeResults> } = Reflect.get(globalThis, 'axe')
    return axe.run(document, options)
  })
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ impact, id, help, nodes }) =>
      nodes.map(({ target, any, all, none }) => {
        const why = [...any, ...all, ...none].map(({ message }) => message)
        return `${impact}: ${id} (${help}) at ${target.join(' ')}: ${why.join('; ')}`
      }),
    )
}
