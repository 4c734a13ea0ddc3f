import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from './system-error.js'

/** For our own user alone. */
const MODE = 0o700

/**
 * Makes a directory, and those it is in, unless they are there. Rejects with an error of the system.
 *
 * Node's own way tries for ever where nothing can be made though the parent is there, as below `/proc`.
 *
 * @example
 * ```ts
 * await makeDirectory('/var/lib/store/data')
 * ```
 */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    await makeOne(directory)
  } catch (error) {
    const parent = dirname(directory)
    if (!hasCode(error, 'ENOENT') || parent === directory) throw error
    await makeDirectory(parent)
    await makeOne(directory)
  }
}

async function makeOne(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: MODE })
  } catch (error) {
    const isThere = hasCode(error, 'EEXIST') && (await stat(directory)).isDirectory()
    if (!isThere) throw error
  }
}
