import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache')

/** A program for a process of its own, made of its sources. */
export interface Program extends AsyncDisposable {
  readonly path: string
}

/** Puts a program and what it imports into one file, below node_modules, so that packages are found from there. */
export async function bundle(source: URL): Promise<Program> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'rx-statestore-attacks-'))
  const path = join(folder, `${basename(source.pathname, '.ts')}.mjs`)
  const build = await rolldown({ input: fileURLToPath(source), platform: 'node', external: /^[^./]/ })
  await build.write({ file: path, format: 'esm' })
  await build.close()
  return { path, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }) }
}
