import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll } from 'vitest'
import { SERVICES } from '../../support/services.js'

const run = promisify(execFile)
const ROOT = new URL('../../../', import.meta.url).pathname
/** Somebody else may use the machine, ms. */
const PATIENCE = 60_000

/**
 * The package as it is built from the sources of now, with its examples; to be called in a suite, removed at its end. A
 * copy, as other specs build `dist` anew while this one reads it. The function gives its folder.
 */
export function builtPackage(): () => string {
  let folder: string | undefined
  beforeAll(async () => {
    if (!SERVICES.chromium.present) return
    await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true })
    folder = await mkdtemp(join(ROOT, 'node_modules/.cache/rx-statestore-browser-'))
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const built = run(process.execPath, [
      tsc,
      '-p',
      join(ROOT, 'tsconfig.build.json'),
      '--outDir',
      join(folder, 'dist'),
    ])
    // What does not type-check is a matter of the type check; here, what it emits has to run.
    await built.catch(() => undefined)
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'))
    await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  }, PATIENCE)
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })
  return () => {
    if (folder === undefined) throw new Error('The package is there while tests run, not while they are collected')
    return folder
  }
}
