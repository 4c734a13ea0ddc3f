import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type BrowserServer, chromium } from 'playwright-core'
import { build } from 'vite'
import type { TestProject } from 'vitest/node'
import { compilePackage, ROOT } from '../../../support/compile-package.js'
import { CHROMIUM, SERVICES } from '../../../support/services.js'

declare module 'vitest' {
  interface ProvidedContext {
    browser: string
    page: string
    package: string
  }
}

const CACHE = join(ROOT, 'node_modules/.cache')

/** Builds the files that the browser suites share from the current sources, and removes them afterwards. */
export async function setup({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!SERVICES.chromium.present) return undefined
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'rx-statestore-browser-'))
  const [browser] = await Promise.all([startBrowser(), buildPage(join(folder, 'page')), copyPackage(folder)])
  provide('browser', browser.wsEndpoint())
  provide('page', join(folder, 'page'))
  provide('package', folder)
  return async () => {
    await browser.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const startBrowser = async (): Promise<BrowserServer> =>
  chromium.launchServer({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0 })

async function buildPage(outDir: string): Promise<void> {
  const configFile = join(ROOT, 'console/vite.config.ts')
  await build({ configFile, logLevel: 'warn', build: { outDir, emptyOutDir: true } })
}

/**
 * Copies the package to a folder below node_modules, where imports of other packages resolve. A copy is needed because
 * other builds may write to `dist`.
 */
async function copyPackage(folder: string): Promise<void> {
  await compilePackage(folder)
  for (const part of ['examples', 'design']) await cp(join(ROOT, part), join(folder, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
}
