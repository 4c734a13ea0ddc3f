import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// The folder is not below node_modules, where a package cannot import itself by name.
const CACHE = join(ROOT, 'target')

/** A program that is bundled from sources, to run in a separate process. */
export interface Program extends AsyncDisposable {
  readonly path: string
}

/**
 * Bundles a program and all its imports into one file, which starts in a third of the time that the separate modules
 * take.
 */
export async function bundle(source: URL): Promise<Program> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'rx-statestore-program-'))
  const path = join(folder, `${basename(source.pathname, '.ts')}.mjs`)
  const build = await rolldown({ input: fileURLToPath(source), platform: 'node', logLevel: 'warn' })
  await build.write({ file: path, format: 'esm', codeSplitting: false })
  await build.close()
  return { path, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }) }
}

/** Bundles a program before the tests of a file, and removes it after them. Returns a function that returns its path. */
export function bundledProgram(source: URL): () => string {
  let program: Program | undefined
  beforeAll(async () => {
    program = await bundle(source)
  })
  afterAll(async () => program?.[Symbol.asyncDispose]())
  return () => {
    if (program === undefined) throw new Error(`${source} is not bundled before the tests begin`)
    return program.path
  }
}
