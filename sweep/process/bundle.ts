import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** The replaced sources by absolute path. */
export type ReplacedFiles = ReadonlyMap<string, string>

const NONE: ReplacedFiles = new Map()

/** Bundles the measured server from the sources, some of which may be replaced. Returns the path of the program. */
export async function bundleServer(name: string, replaced: ReplacedFiles = NONE): Promise<string> {
  const folder = resolve('sweep/target/bundles')
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${name}.mjs`)
  const build = await rolldown({
    input: resolve('sweep/process/server-process.ts'),
    platform: 'node',
    logLevel: 'silent',
    external: [/^[\w@]/],
    plugins: [{ name: 'replaced', load: id => replaced.get(id) }],
  })
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return file
}
