import { constants, fdatasyncSync, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A file that is written at places, and flushed. */
export interface OpenFile {
  /** Writes all of it at a place. */
  write(bytes: Uint8Array, at: number): Promise<void>
  /** Writes all of it at a place before it returns. */
  writeNow(bytes: Uint8Array, at: number): void
  /** Settles when all that was written is on the disk. */
  flush(): Promise<void>
  /** Returns when all that was written is on the disk. */
  flushNow(): void
  truncate(length: number): Promise<void>
  /** Reads up to so many bytes from a place; fewer at the end. */
  read(at: number, length: number): Promise<Uint8Array>
  size(): Promise<number>
  close(): Promise<void>
}

/** What a store needs of a directory: few enough calls to let each of them fail in a test. */
export interface Files {
  list(): Promise<readonly string[]>
  /** Makes a file, or empties it once `confirm` has returned; it raises what keeps the file as it is. */
  create(name: string, confirm?: () => void): Promise<OpenFile>
  /** Opens a file that is there. */
  open(name: string, writable: boolean): Promise<OpenFile>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Settles when names that were made, changed or removed are on the disk. */
  flush(): Promise<void>
}

/** For the owner alone: a file holds every value. */
const FILE_MODE = 0o600

/** The files of a directory. */
export async function filesOf(directory: string): Promise<Files> {
  const at = (name: string): string => join(directory, name)
  return {
    list: async () => (await readdir(directory)).sort(),
    create: async (name, confirm) =>
      emptied(await open(at(name), constants.O_RDWR | constants.O_CREAT, FILE_MODE), confirm),
    open: async (name, writable) => new DiskFile(await open(at(name), writable ? 'r+' : 'r')),
    rename: async (from, to) => rename(at(from), at(to)),
    remove: async name => rm(at(name)),
    flush: async () => flushDirectory(directory),
  }
}

async function emptied(handle: FileHandle, confirm: (() => void) | undefined): Promise<OpenFile> {
  try {
    confirm?.()
    await handle.truncate(0)
  } catch (error) {
    await handle.close()
    throw error
  }
  return new DiskFile(handle)
}

class DiskFile implements OpenFile {
  readonly #handle: FileHandle

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    let written = 0
    // A disk that is nearly full takes a part.
    while (written < bytes.length) {
      const { bytesWritten } = await this.#handle.write(bytes, written, bytes.length - written, at + written)
      written += bytesWritten
    }
  }

  writeNow(bytes: Uint8Array, at: number): void {
    let written = 0
    while (written < bytes.length) {
      written += writeSync(this.#handle.fd, bytes, written, bytes.length - written, at + written)
    }
  }

  async flush(): Promise<void> {
    await this.#handle.datasync()
  }

  flushNow(): void {
    fdatasyncSync(this.#handle.fd)
  }

  async truncate(length: number): Promise<void> {
    await this.#handle.truncate(length)
  }

  async read(at: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    let read = 0
    while (read < length) {
      const { bytesRead } = await this.#handle.read(bytes, read, length - read, at + read)
      if (bytesRead === 0) break
      read += bytesRead
    }
    return bytes.subarray(0, read)
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/** Settles when the names in a directory are on the disk. Windows has no such call, and needs none. */
export async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether a directory is still ours. */
export interface Ownership {
  /**
   * Raises `in-use` when another process has the directory. What was written before a check that passes is seen by each
   * later owner.
   */
  check(): void
}

/**
 * Files of a directory that this process may lose to another one. After a flush it is checked that the directory is still
 * ours, so that nothing is acknowledged that the next owner does not see. A name is changed after a check. A file is written
 * if a check passes after it was opened: then the next owner, who comes later, does not go on in that file.
 */
export function guardedFiles(files: Files, lock: Ownership): Files {
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

async function confirmed(file: OpenFile, lock: Ownership): Promise<void> {
  try {
    lock.check()
  } catch (error) {
    await file.close()
    throw error
  }
}

const guarded = (file: OpenFile, lock: Ownership): OpenFile => ({
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

/** For our own user alone. */
const DIRECTORY_MODE = 0o700

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
    await mkdir(directory, { mode: DIRECTORY_MODE })
  } catch (error) {
    const isThere = hasCode(error, 'EEXIST') && (await stat(directory)).isDirectory()
    if (!isThere) throw error
    return
  }
  await flush(dirname(directory))
}

/** Whether an error is one of the system's with one of these codes, such as `ENOENT`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.some(code => code === error.code)

/** Whether an error means that there is no room on the disk. */
export const isFull = (error: unknown): boolean => hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')
