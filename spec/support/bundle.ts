import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { beforeAll } from 'vitest'
import { programFolder, ROOT } from './temporary-folder.js'

/**
 * Bundles a program and all its imports into one file, which starts in a third of the time that the separate modules
 * take. All files of a run that use the program share the bundle. Returns a function that returns its path.
 */
export function bundledProgram(source: URL): () => string {
  const input = fileURLToPath(source)
  const path = join(programFolder(), `${relative(ROOT, input).replaceAll('/', '-')}.mjs`)
  beforeAll(async () => {
    if (!existsSync(path)) await bundle(input, path)
  })
  return () => path
}

async function bundle(input: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const build = await rolldown({ input, platform: 'node', logLevel: 'warn' })
  // Another worker may bundle the same program at the same time.
  const unfinished = `${path}.${process.pid}`
  await build.write({ file: unfinished, format: 'esm', codeSplitting: false })
  await build.close()
  await rename(unfinished, path)
}
