import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'

export const ROOT = new URL('../..', import.meta.url).pathname

/** Compiles the package from the current sources into a folder, without the page of the console. */
export async function compilePackage(folder: string): Promise<void> {
  // Type errors are left to the type check; here only the emitted code matters.
  await new Promise<void>(resolve =>
    execFile(process.execPath, [join(ROOT, 'scripts/build.js'), folder], () => resolve()),
  )
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'))
}
