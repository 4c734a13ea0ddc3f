import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { randomBytes, toHex } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'
import { type Io, print } from './io.js'

/** Where a dump goes. */
export interface DumpTarget {
  /** Of the file, if it is one. */
  readonly name: string | undefined
  /** Settles when there is room for more. */
  write(data: string | Uint8Array): Promise<void>
  /** It is complete. */
  finish(): Promise<void>
  /** It is not, and never will be; harmless when it is finished. */
  abandon(): Promise<void>
}

const STANDARD_STREAM = '-'
const PERMISSIONS = 0o777
const OWNER_ONLY = 0o600

/** Opens a file, or stdout. Raises {@link Failure} when that cannot be. */
export async function openTarget(file: string | undefined, io: Io): Promise<DumpTarget> {
  if (file === undefined || file === STANDARD_STREAM) {
    return {
      name: undefined,
      write: data => print(io.stdout, data),
      finish: async () => undefined,
      abandon: async () => undefined,
    }
  }
  try {
    const mode = await modeOf(file)
    if (mode === undefined) return new FileTarget(file, file, await open(file, 'w'))
    // A name that nobody else has, and no link that somebody left there.
    const place = `${file}.${toHex(randomBytes(6)).toLowerCase()}.part`
    return new FileTarget(file, place, await open(place, 'wx', mode))
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot write the dump: ${reason(cause)}`, { cause })
  }
}

/**
 * With which permissions a file may be put there in one piece: those of the one it replaces, else the owner's alone, as a
 * dump holds every value. `undefined` for the place of a device or a link, which is written to as it is.
 */
async function modeOf(file: string): Promise<number | undefined> {
  try {
    const status = await lstat(file)
    return status.isFile() ? status.mode & PERMISSIONS : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return OWNER_ONLY
    throw error
  }
}

/** A file that is what it was until it is complete. */
class FileTarget implements DumpTarget {
  readonly name: string
  readonly #place: string
  readonly #handle: FileHandle
  #ended = false

  constructor(name: string, place: string, handle: FileHandle) {
    this.name = name
    this.#place = place
    this.#handle = handle
  }

  async write(data: string | Uint8Array): Promise<void> {
    await this.#attempt(async () => this.#handle.appendFile(data))
  }

  async finish(): Promise<void> {
    await this.#attempt(async () => {
      await this.#handle.sync().catch(ignoreUnable)
      await this.#handle.close()
      if (this.#place !== this.name) await rename(this.#place, this.name)
    })
    this.#ended = true
  }

  async abandon(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#handle.close()
    if (this.#place !== this.name) await rm(this.#place, { force: true })
  }

  async #attempt(task: () => Promise<unknown>): Promise<void> {
    try {
      await task()
    } catch (cause) {
      throw new Failure(EXIT.failed, `cannot write the dump: ${reason(cause)}`, { cause })
    }
  }
}

// A pipe or a device cannot be synchronised, and need not be.
function ignoreUnable(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && (error.code === 'EINVAL' || error.code === 'ENOTSUP'))) throw error
}
