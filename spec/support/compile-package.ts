import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'

export const ROOT = new URL('../..', import.meta.url).pathname

/**
 * Compiles the package from the current sources into a folder, without the console page.
 *
 * @param parts - `code` leaves out the declarations, which take most of the time
 */
export async function compilePackage(folder: string, ...parts: readonly 'code'[]): Promise<void> {
  // The type check reports type errors. Only the emitted code matters here.
  await new Promise<void>(resolve =>
    execFile(process.execPath, [join(ROOT, 'scripts/build.js'), folder, ...parts], () => resolve()),
  )
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'))
}
