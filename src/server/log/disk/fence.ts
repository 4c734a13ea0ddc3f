import { constants } from 'node:fs'
import { copyFile, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileOf, MARK, UNFINISHED } from './format.js'
import { hasCode } from './system-error.js'

/**
 * Puts copies in the place of the files that an owner before may still have open: what it writes to them from now on is
 * not in the directory. The mark comes first, as it must not be ahead of the logs.
 */
export async function fence(directory: string): Promise<void> {
  const names = await readdir(directory)
  for (const name of names.includes(MARK) ? [MARK] : []) await replaceByCopy(directory, name)
  for (const name of names) if (fileOf(name)?.kind === 'log') await replaceByCopy(directory, name)
}

async function replaceByCopy(directory: string, name: string): Promise<void> {
  const [file, copy] = [join(directory, name), join(directory, name + UNFINISHED)]
  try {
    await copyFile(file, copy, constants.COPYFILE_FICLONE)
    const handle = await open(copy, 'r+')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(copy, file)
  } catch (error) {
    await rm(copy, { force: true })
    // A log that a state has replaced in this moment is not needed.
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
