import { constants, fdatasyncSync, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { backoff } from '../../../core/util/backoff.js'
import { isError } from '../../../core/util/built-in-types.js'
import type { Clock } from '../../../core/util/clock.js'
import { reason, StateStoreError } from '../../../core/util/errors.js'
import { wait } from '../../../core/util/wait.js'

/** A file with positioned writes and explicit flushes. */
export interface OpenFile {
  write(bytes: Uint8Array, offset: number): Promise<void>
  writeSync(bytes: Uint8Array, offset: number): void
  /** Resolves when all written bytes are durable. */
  flush(): Promise<void>
  /** Throws {@link OwnershipUnknownError} if `flush` is necessary to wait for the check of the owner. */
  flushSync(): void
  truncate(length: number): Promise<void>
  /** Reads up to `length` bytes. At the end of the file, reads fewer. */
  read(offset: number, length: number): Promise<Uint8Array>
  size(): Promise<number>
  close(): Promise<void>
}

/** The directory operations that a store uses. The set is small so that specs can make each operation fail. */
export interface Files {
  list(): Promise<readonly string[]>
  /**
   * Creates a file, or truncates an existing file after `beforeTruncate` returns. If `beforeTruncate` throws, the file
   * is left unchanged.
   */
  create(name: string, beforeTruncate?: () => void): Promise<OpenFile>
  open(name: string, writable: boolean): Promise<OpenFile>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Resolves when created, renamed and removed names are durable. */
  flush(): Promise<void>
}

/** Only the owner may read the files, because they hold every value. */
const FILE_MODE = 0o600

export async function directoryFiles(directory: string): Promise<Files> {
  const pathOf = (name: string): string => join(directory, name)
  return {
    list: async () => (await readdir(directory)).sort(),
    create: async (name, beforeTruncate) =>
      emptyFile(await open(pathOf(name), constants.O_RDWR | constants.O_CREAT, FILE_MODE), beforeTruncate),
    open: async (name, writable) => new DiskFile(await open(pathOf(name), writable ? 'r+' : 'r')),
    rename: async (from, to) => rename(pathOf(from), pathOf(to)),
    remove: async name => rm(pathOf(name)),
    flush: async () => flushDirectory(directory),
  }
}

async function emptyFile(handle: FileHandle, beforeTruncate: (() => void) | undefined): Promise<OpenFile> {
  try {
    beforeTruncate?.()
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

  async write(bytes: Uint8Array, offset: number): Promise<void> {
    let written = 0
    // A nearly full disk may accept only a part of the bytes.
    while (written < bytes.length) {
      const { bytesWritten } = await this.#handle.write(bytes, written, bytes.length - written, offset + written)
      written += bytesWritten
    }
  }

  writeSync(bytes: Uint8Array, offset: number): void {
    let written = 0
    while (written < bytes.length) {
      written += writeSync(this.#handle.fd, bytes, written, bytes.length - written, offset + written)
    }
  }

  async flush(): Promise<void> {
    await this.#handle.datasync()
  }

  flushSync(): void {
    fdatasyncSync(this.#handle.fd)
  }

  async truncate(length: number): Promise<void> {
    await this.#handle.truncate(length)
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    let read = 0
    while (read < length) {
      const { bytesRead } = await this.#handle.read(bytes, read, length - read, offset + read)
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

/** Resolves when the names in a directory are durable. Windows has no such call and does not need one. */
export async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export interface Ownership {
  readonly clock: Clock
  /**
   * Throws `in-use` when another process has taken the directory, and {@link OwnershipUnknownError} when this cannot be
   * found out now. All data written before a successful check is visible to each later owner.
   */
  check(): void
}

/** The owner of a directory could not be determined, for instance because no file descriptor was left. */
export class OwnershipUnknownError extends StateStoreError {
  override readonly name = 'OwnershipUnknownError'

  constructor(directory: string, cause: unknown) {
    super(
      'lock-unknown',
      `the lock of the directory ${directory} cannot be read or written, and is tried again: ${reason(cause)}; writes wait if this lasts: ` +
        'check the permissions of the directory, the file system and the limit of open files',
      { cause },
    )
  }
}

const CHECK_RETRY_MS = { initial: 50, max: 1_000 }
/** The time for which flushed data waits for a check. Afterwards, its outcome stays unknown. */
const MAX_CHECK_WAIT_MS = 60_000

/** Resolves after a successful check. Repeats a check that cannot be made. */
async function confirm(lock: Ownership): Promise<void> {
  const startedAt = lock.clock.monotonic()
  for (let failures = 1; ; failures++) {
    try {
      lock.check()
      return
    } catch (error) {
      const isOver = lock.clock.monotonic() - startedAt >= MAX_CHECK_WAIT_MS
      if (!(error instanceof OwnershipUnknownError) || isOver) throw error
      await wait(backoff(failures, CHECK_RETRY_MS), lock.clock)
    }
  }
}

/**
 * Guards files of a directory that another process may take over. Ownership is checked after each flush, so nothing is
 * acknowledged that the next owner cannot see, and before each change of a name. A file is written only if a check
 * succeeds after the file was opened, because the next owner does not resume in such a file.
 */
export function guardedFiles(files: Files, lock: Ownership): Files {
  return {
    list: async () => files.list(),
    create: async name => {
      lock.check()
      return guardedFile(await files.create(name, () => lock.check()), lock)
    },
    open: async (name, writable) => {
      const file = await files.open(name, writable)
      if (writable) await checkAfterOpen(file, lock)
      return guardedFile(file, lock)
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

async function checkAfterOpen(file: OpenFile, lock: Ownership): Promise<void> {
  try {
    lock.check()
  } catch (error) {
    await file.close()
    throw error
  }
}

const guardedFile = (file: OpenFile, lock: Ownership): OpenFile => ({
  write: async (bytes, offset) => file.write(bytes, offset),
  writeSync: (bytes, offset) => file.writeSync(bytes, offset),
  flush: async () => {
    await file.flush()
    await confirm(lock)
  },
  flushSync: () => {
    file.flushSync()
    lock.check()
  },
  truncate: async length => file.truncate(length),
  read: async (offset, length) => file.read(offset, length),
  size: async () => file.size(),
  close: async () => file.close(),
})

const DIRECTORY_MODE = 0o700

/**
 * Creates a directory and its missing parents, and flushes the new names. Rejects with a system error.
 *
 * This function replaces Node's recursive `mkdir`, which loops forever if a directory cannot be created although its
 * parent exists, as below `/proc`.
 *
 * @param flush - resolves when the names in a directory are durable
 *
 * @example
 * ```ts
 * await makeDirectory('/var/lib/store/data')
 * ```
 */
export async function makeDirectory(directory: string, flush: typeof flushDirectory = flushDirectory): Promise<void> {
  try {
    await makeSingleDirectory(directory, flush)
  } catch (error) {
    const parent = dirname(directory)
    if (!hasCode(error, 'ENOENT') || parent === directory) throw error
    await makeDirectory(parent, flush)
    await makeSingleDirectory(directory, flush)
  }
}

async function makeSingleDirectory(directory: string, flush: typeof flushDirectory): Promise<void> {
  try {
    await mkdir(directory, { mode: DIRECTORY_MODE })
  } catch (error) {
    const isDirectory = hasCode(error, 'EEXIST') && (await stat(directory)).isDirectory()
    if (!isDirectory) throw error
    return
  }
  await flush(dirname(directory))
}

/** Returns whether an error is a system error with one of these codes, such as `ENOENT`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  isError(error) && 'code' in error && codes.some(code => code === error.code)

export const isFull = (error: unknown): boolean => hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')
