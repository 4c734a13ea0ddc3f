import { constants, fdatasyncSync, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

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
const MODE = 0o600

/** The files of a directory. */
export async function filesOf(directory: string): Promise<Files> {
  const at = (name: string): string => join(directory, name)
  return {
    list: async () => (await readdir(directory)).sort(),
    create: async (name, confirm) => emptied(await open(at(name), constants.O_RDWR | constants.O_CREAT, MODE), confirm),
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
