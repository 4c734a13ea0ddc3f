import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'

export const ROOT = new URL('../..', import.meta.url).pathname

/** Puts the package as it is compiled from the sources of now into a folder, without the console's page. */
export async function compilePackage(folder: string): Promise<void> {
  // What does not type-check is a matter of the type check; here, what it emits has to run.
  await new Promise<void>(resolve =>
    execFile(process.execPath, [join(ROOT, 'scripts/build.js'), folder], () => resolve()),
  )
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'))
}
