import type { Files, OpenFile } from './files.js'
import type { DirectoryLock } from './lock.js'

/**
 * Files of a directory that this process may lose to another one. After a flush it is checked that the directory is still
 * ours, so that nothing is acknowledged that the next owner does not see. A name is changed after a check. A file is written
 * if a check passes after it was opened: then the next owner, who comes later, does not go on in that file.
 */
export function guardedFiles(files: Files, lock: Pick<DirectoryLock, 'check'>): Files {
  return {
    list: async () => files.list(),
    create: async name => {
      lock.check()
      return guarded(await files.create(name, () => lock.check()), lock)
    },
    open: async (name, writable) => {
      const file = await files.open(name, writable)
      if (writable) await confirmed(file, lock)
      return guarded(file, lock)
    },
    rename: async (from, to) => {
      lock.check()
      await files.rename(from, to)
    },
    remove: async name => {
      lock.check()
      await files.remove(name)
    },
    flush: async () => {
      await files.flush()
      lock.check()
    },
  }
}

async function confirmed(file: OpenFile, lock: Pick<DirectoryLock, 'check'>): Promise<void> {
  try {
    lock.check()
  } catch (error) {
    await file.close()
    throw error
  }
}

const guarded = (file: OpenFile, lock: Pick<DirectoryLock, 'check'>): OpenFile => ({
  write: async (bytes, at) => file.write(bytes, at),
  writeNow: (bytes, at) => file.writeNow(bytes, at),
  flush: async () => {
    await file.flush()
    lock.check()
  },
  flushNow: () => {
    file.flushNow()
    lock.check()
  },
  truncate: async length => file.truncate(length),
  read: async (at, length) => file.read(at, length),
  size: async () => file.size(),
  close: async () => file.close(),
})
