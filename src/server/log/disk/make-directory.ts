import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushDirectory } from './files.js'
import { hasCode } from './system-error.js'

/** For our own user alone. */
const MODE = 0o700

/**
 * Makes a directory, and those it is in, unless they are there, and flushes the names of those it made. Rejects with an
 * error of the system.
 *
 * Node's own way tries for ever where nothing can be made though the parent is there, as below `/proc`.
 *
 * @param flush - settles when the names in a directory are on the disk
 *
 * @example
 * ```ts
 * await makeDirectory('/var/lib/store/data')
 * ```
 */
export async function makeDirectory(directory: string, flush: typeof flushDirectory = flushDirectory): Promise<void> {
  try {
    await makeOne(directory, flush)
  } catch (error) {
    const parent = dirname(directory)
    if (!hasCode(error, 'ENOENT') || parent === directory) throw error
    await makeDirectory(parent, flush)
    await makeOne(directory, flush)
  }
}

async function makeOne(directory: string, flush: typeof flushDirectory): Promise<void> {
  try {
    await mkdir(directory, { mode: MODE })
  } catch (error) {
    const isThere = hasCode(error, 'EEXIST') && (await stat(directory)).isDirectory()
    if (!isThere) throw error
    return
  }
  await flush(dirname(directory))
}
