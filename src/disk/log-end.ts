import { LogFailure } from '../log/log.js'
import type { OpenFile } from './files.js'
import type { Salt } from './frame.js'
import { hasCode } from './system-error.js'

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

/**
 * The end of a log file, where frames are put and flushed. The file is written with zeros some way ahead, so that a flush
 * needs no more than the frame itself: to make a file longer is a second thing for the disk to write.
 */
export class LogEnd {
  readonly salt: Salt
  readonly #file: OpenFile
  readonly #zeros: Uint8Array
  #at: number
  #reserved: number

  /** @param zeros - what is written ahead at a time */
  constructor({ file, salt, at, reserved }: EndPlace, zeros: Uint8Array) {
    this.salt = salt
    this.#file = file
    this.#zeros = zeros
    this.#at = at
    this.#reserved = reserved
  }

  /** How long the log is, without what was written ahead, bytes. */
  get length(): number {
    return this.#at
  }

  /** Whether there is room for a frame that was written before. */
  hasRoom(frame: Uint8Array): boolean {
    return this.#at + frame.length <= this.#reserved
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
  async put(frame: Uint8Array): Promise<Outcome> {
    try {
      if (frame.length <= SMALL && this.hasRoom(frame)) this.#file.writeNow(frame, this.#at)
      else await this.#file.write(frame, this.#at)
    } catch (error) {
      return this.#unwritten(error)
    }
    try {
      if (!this.hasRoom(frame)) await this.#reserve(this.#at + frame.length)
    } catch (cause) {
      return new LogFailure('broken', 'writing to the disk failed', { cause })
    }
    try {
      await this.#file.flush()
    } catch (cause) {
      return unflushed(cause)
    }
    this.#passed(frame)
    return undefined
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  #passed(frame: Uint8Array): void {
    this.#at += frame.length
  }

  async #reserve(from: number): Promise<void> {
    this.#reserved = from
    try {
      await this.#file.write(this.#zeros, from)
      this.#reserved += this.#zeros.length
    } catch (error) {
      // It goes on without, as long as there is room for the frames themselves.
      if (!isFull(error)) throw error
    }
  }

  async #unwritten(cause: unknown): Promise<LogFailure> {
    if (!isFull(cause)) return new LogFailure('broken', 'writing to the disk failed', { cause })
    try {
      await this.#file.truncate(this.#at)
      this.#reserved = this.#at
    } catch (error) {
      return new LogFailure('broken', 'the disk is full, and what was begun cannot be taken back', { cause: error })
    }
    return new LogFailure('full', 'the disk is full', { cause })
  }
}

/** What is on the disk now nobody knows: a flush that failed must not be tried again. */
const unflushed = (cause: unknown): LogFailure => new LogFailure('broken', 'a flush to the disk failed', { cause })

/** Whether an error means that there is no room. */
const isFull = (error: unknown): boolean => hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')
