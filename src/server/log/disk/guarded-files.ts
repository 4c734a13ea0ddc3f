import type { Files, OpenFile } from './files.js'
import type { DirectoryLock } from './lock.js'

/**
 * Files of a directory that this process may lose to another one. After a flush it is checked that the directory is still
 * ours, so that nothing is acknowledged that the next owner does not see. What has a name is not touched before a check.
 */
export function guardedFiles(files: Files, lock: Pick<DirectoryLock, 'check'>): Files {
  return {
    list: async () => files.list(),
    create: async name => {
      lock.check()
      return guarded(await files.create(name), lock)
    },
    open: async (name, writable) => guarded(await files.open(name, writable), lock),
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
