import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClaimFiles } from './claims.js'
import { draftOf, LOCK } from './format.js'
import { hasCode } from './system-error.js'

const MODE = 0o600

/**
 * The claims in a directory.
 *
 * @param linked - gives a file a second name, unless there is a file of that
 */
export function claimFiles(directory: string, linked: typeof link = link): ClaimFiles {
  const at = (name: string): string => join(directory, name)
  return {
    list: async () => readdir(directory),
    read: async name => unless(async () => readFile(at(name), 'utf8'), undefined, 'ENOENT'),
    make: async (name, text) => {
      const draft = at(draftOf(LOCK))
      try {
        await writeFile(draft, text, { flag: 'wx', mode: MODE })
        return await unless(async () => linked(draft, at(name)).then(() => true), false, 'EEXIST')
      } catch (error) {
        if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
        // Where files have one name only, a claim is there for a moment before its text is.
        return await unless(
          async () => writeFile(at(name), text, { flag: 'wx', mode: MODE }).then(() => true),
          false,
          'EEXIST',
        )
      } finally {
        await rm(draft, { force: true })
      }
    },
    rename: async (from, to) => unless(async () => rename(at(from), at(to)).then(() => true), false, 'ENOENT'),
    remove: async name => rm(at(name), { force: true }),
  }
}

async function unless<T>(task: () => Promise<T>, otherwise: T, code: string): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (hasCode(error, code)) return otherwise
    throw error
  }
}
