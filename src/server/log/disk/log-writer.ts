import { LogFailure } from '../log.js'
import { isFull, type OpenFile } from './files.js'
import type { Salt } from './format.js'

/** Where a log file goes on. */
export interface EndPlace {
  readonly file: OpenFile
  readonly salt: Salt
  /** Where the next frame begins. */
  readonly at: number
  /** Up to here the file has room that was written before. */
  readonly reserved: number
}

/** What becomes of a frame: nothing is wrong, or why it is not there. */
export type Outcome = LogFailure | undefined

/** A larger frame is handed to another thread: to copy it would keep the loop, bytes. */
const SMALL = 64 * 1024

/** Of the zeros ahead, so much is left to what frees room, bytes. */
const RESERVE = 256 * 1024

/**
 * The end of a log file, where frames are put and flushed. The file is written with zeros some way ahead, so that a flush
 * needs no more than the frame itself: to make a file longer is a second thing for the disk to write. The last of the
 * zeros are a reserve: on a full disk they are there for what frees room.
 */
export class LogWriter {
  readonly salt: Salt
  readonly #file: OpenFile
  readonly #zeros: Uint8Array
  readonly #reserve: number
  #at: number
  #reserved: number

  /** @param zeros - what is written ahead at a time */
  constructor({ file, salt, at, reserved }: EndPlace, zeros: Uint8Array) {
    this.salt = salt
    this.#file = file
    this.#zeros = zeros
    this.#reserve = Math.min(RESERVE, zeros.length >> 2)
    this.#at = at
    this.#reserved = reserved
  }

  /** How long the log is, without what was written ahead, bytes. */
  get length(): number {
    return this.#at
  }

  /** Whether there is room for a frame that was written before. @param frees - it may use the reserve */
  hasRoom(frame: Uint8Array, frees: boolean): boolean {
    return this.#at + frame.length <= this.#reserved - (frees ? 0 : this.#reserve)
  }

  /** Has a frame on the disk before it returns; settles later only when it is refused. */
  putNow(frame: Uint8Array): Outcome | Promise<Outcome> {
    try {
      this.#file.writeNow(frame, this.#at)
    } catch (error) {
      return this.#unwritten(error)
    }
    try {
      this.#file.flushNow()
    } catch (cause) {
      return unflushed(cause)
    }
    this.#passed(frame)
    return undefined
  }

  /** Settles when a frame is on the disk, or is refused. */
  async put(frame: Uint8Array, frees: boolean): Promise<Outcome> {
    const before = this.#reserved
    const failure = this.hasRoom(frame, frees) ? undefined : await this.#extend(frame, frees)
    if (failure !== undefined) return failure
    try {
      // The rest is written already.
      const first = frame.subarray(0, before - this.#at)
      if (first.length <= SMALL) this.#file.writeNow(first, this.#at)
      else await this.#file.write(first, this.#at)
    } catch (error) {
      return this.#unwritten(error)
    }
    try {
      await this.#file.flush()
    } catch (cause) {
      return unflushed(cause)
    }
    this.#passed(frame)
    return undefined
  }

  /** Gives the room of the zeros back to the disk. */
  async trim(): Promise<void> {
    await this.#file.truncate(this.#at)
    this.#reserved = this.#at
  }

  /** Takes the reserve again, if there is room. */
  async keepReserve(): Promise<void> {
    if (this.#reserved > this.#at) return
    try {
      this.#reserved = this.#at + (await this.#writeAhead(this.#at))
    } catch {
      // What is appended next finds out.
    }
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  #passed(frame: Uint8Array): void {
    this.#at += frame.length
  }

  /**
   * Makes room: writes what of a frame has none behind the zeros that there are, and new zeros behind that. The zeros that
   * there are stay as they are when the disk is full.
   */
  async #extend(frame: Uint8Array, frees: boolean): Promise<Outcome> {
    const from = this.#reserved
    const end = Math.max(from, this.#at + frame.length)
    try {
      if (end > from) await this.#file.write(frame.subarray(from - this.#at), from)
      const ahead = await this.#writeAhead(end)
      if (ahead < this.#reserve && !frees) return await this.#takeBack(from, undefined)
      this.#reserved = end + ahead
    } catch (cause) {
      return isFull(cause)
        ? this.#takeBack(from, cause)
        : new LogFailure('broken', 'writing to the disk failed', { cause })
    }
    return undefined
  }

  /** Writes zeros, as many as there are or for the reserve alone; returns how many. */
  async #writeAhead(from: number): Promise<number> {
    for (const length of [this.#zeros.length, this.#reserve]) {
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

  async #unwritten(cause: unknown): Promise<LogFailure> {
    if (!isFull(cause)) return new LogFailure('broken', 'writing to the disk failed', { cause })
    return this.#takeBack(this.#at, cause)
  }

  async #takeBack(to: number, cause: unknown): Promise<LogFailure> {
    try {
      await this.#file.truncate(to)
      this.#reserved = to
    } catch (error) {
      return new LogFailure('broken', 'the disk is full, and what was begun cannot be taken back', { cause: error })
    }
    return new LogFailure('full', 'the disk is full', { cause })
  }
}

/** What is on the disk now nobody knows: a flush that failed must not be tried again. */
const unflushed = (cause: unknown): LogFailure => new LogFailure('broken', 'a flush to the disk failed', { cause })
