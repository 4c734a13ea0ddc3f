import { LogFailure } from '../log.js'
import { isFull, type OpenFile, OwnershipUnknownError } from './files.js'
import type { Salt } from './format.js'

export interface AppendTarget {
  readonly file: OpenFile
  readonly salt: Salt
  readonly endOffset: number
  readonly preallocatedEnd: number
}

/** The result of a flush: `undefined` if the frame is durable, otherwise the reason why it is not. */
export type FlushResult = LogFailure | undefined

/** The size above which frames are written on another thread, because copying them would block the event loop. */
const MAX_SYNC_WRITE_BYTES = 64 * 1024

/** The maximum part of the preallocated space that is kept for entries that free space. */
const MAX_RESERVE_BYTES = 256 * 1024

/**
 * Appends and flushes frames at the end of a log file. The file is preallocated with zeros so that a flush writes only
 * the frame, because the disk would also have to write metadata if the file grew. The last zeros are a reserve for
 * entries that free space on a full disk.
 */
export class LogWriter {
  readonly salt: Salt
  readonly #file: OpenFile
  readonly #zeros: Uint8Array
  readonly #reserveBytes: number
  #endOffset: number
  #preallocatedEnd: number

  /** @param zeros - zeros to write at a time */
  constructor({ file, salt, endOffset, preallocatedEnd }: AppendTarget, zeros: Uint8Array) {
    this.salt = salt
    this.#file = file
    this.#zeros = zeros
    this.#reserveBytes = Math.min(MAX_RESERVE_BYTES, zeros.length >> 2)
    this.#endOffset = endOffset
    this.#preallocatedEnd = preallocatedEnd
  }

  /** The log's length in bytes, without preallocated space. */
  get length(): number {
    return this.#endOffset
  }

  /**
   * Returns whether a frame fits into the preallocated space.
   *
   * @param freesSpace - whether the frame may use the reserve
   */
  hasRoom(frame: Uint8Array, freesSpace: boolean): boolean {
    return this.#endOffset + frame.length <= this.#preallocatedEnd - (freesSpace ? 0 : this.#reserveBytes)
  }

  /** Writes and flushes a frame before it returns. Returns a promise if the frame is rejected or the owner is unknown. */
  appendSync(frame: Uint8Array): FlushResult | Promise<FlushResult> {
    try {
      this.#file.writeSync(frame, this.#endOffset)
    } catch (error) {
      return this.#handleWriteError(error)
    }
    try {
      this.#file.flushSync()
    } catch (cause) {
      if (cause instanceof OwnershipUnknownError) return this.#flush(frame)
      return uncertainFailure('a flush to the disk failed', cause)
    }
    this.#advance(frame)
    return undefined
  }

  async append(frame: Uint8Array, freesSpace: boolean): Promise<FlushResult> {
    const before = this.#preallocatedEnd
    const failure = this.hasRoom(frame, freesSpace) ? undefined : await this.#extend(frame, freesSpace)
    if (failure !== undefined) return failure
    try {
      // `#extend` has already written the remaining bytes.
      const first = frame.subarray(0, before - this.#endOffset)
      if (first.length <= MAX_SYNC_WRITE_BYTES) this.#file.writeSync(first, this.#endOffset)
      else await this.#file.write(first, this.#endOffset)
    } catch (error) {
      return this.#handleWriteError(error)
    }
    return this.#flush(frame)
  }

  async #flush(frame: Uint8Array): Promise<FlushResult> {
    try {
      await this.#file.flush()
    } catch (cause) {
      return uncertainFailure('a flush to the disk failed', cause)
    }
    this.#advance(frame)
    return undefined
  }

  /** Returns the preallocated space to the disk. */
  async trim(): Promise<void> {
    await this.#file.truncate(this.#endOffset)
    this.#preallocatedEnd = this.#endOffset
  }

  /** Preallocates the space again if the disk has enough space. */
  async restoreReserve(): Promise<void> {
    if (this.#preallocatedEnd > this.#endOffset) return
    try {
      this.#preallocatedEnd = this.#endOffset + (await this.#preallocate(this.#endOffset))
    } catch {
      // The next append reports the problem.
    }
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  #advance(frame: Uint8Array): void {
    this.#endOffset += frame.length
  }

  /**
   * Extends the file. Writes the part of the frame that exceeds the preallocated space, then new zeros. If the disk is
   * full, keeps the previously preallocated space.
   */
  async #extend(frame: Uint8Array, freesSpace: boolean): Promise<FlushResult> {
    const from = this.#preallocatedEnd
    const end = Math.max(from, this.#endOffset + frame.length)
    try {
      if (end > from) await this.#file.write(frame.subarray(from - this.#endOffset), from)
      const ahead = await this.#preallocate(end)
      if (ahead < this.#reserveBytes && !freesSpace) return await this.#truncateTo(from, undefined)
      this.#preallocatedEnd = end + ahead
    } catch (cause) {
      return isFull(cause) ? this.#truncateTo(from, cause) : uncertainFailure('writing to the disk failed', cause)
    }
    return undefined
  }

  /** Preallocates in full or, if that fails, only the reserve. Returns the number of bytes. */
  async #preallocate(from: number): Promise<number> {
    for (const length of [this.#zeros.length, this.#reserveBytes]) {
      try {
        await this.#file.write(this.#zeros.subarray(0, length), from)
        return length
      } catch (error) {
        if (!isFull(error)) throw error
        await this.#file.truncate(from)
      }
    }
    return 0
  }

  async #handleWriteError(cause: unknown): Promise<LogFailure> {
    if (!isFull(cause)) return uncertainFailure('writing to the disk failed', cause)
    return this.#truncateTo(this.#endOffset, cause)
  }

  async #truncateTo(offset: number, cause: unknown): Promise<LogFailure> {
    try {
      await this.#file.truncate(offset)
      // The frame may have been written in whole, and must not reappear after a power cut.
      await this.#file.flush()
      this.#preallocatedEnd = offset
    } catch (error) {
      return uncertainFailure('the disk is full, and a partial write could not be undone', error)
    }
    return new LogFailure('full', 'the disk is full', { cause })
  }
}

/**
 * Returns the failure of an entry whose frame the disk may contain. Neither the write nor the flush is retried, because
 * the content of the disk is unknown afterwards.
 */
export const uncertainFailure = (event: string, cause: unknown): LogFailure =>
  new LogFailure('broken', `${event}: restart the store once the disk works`, { cause, mayBeLogged: true })
