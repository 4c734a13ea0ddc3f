import type { OpenFile } from './files.js'
import { FRAME_HEADER, headerAt, isIntact } from './frame.js'

/** What is read at a time, bytes. */
const CHUNK = 1024 * 1024
/** A torn frame is not looked beyond for more than this, bytes. */
const MOST_SEARCHED = 64 * 1024 * 1024

/** Reads the frames of a file one after the other. */
export class FrameSource {
  readonly #file: OpenFile
  readonly #size: number
  #bytes: Uint8Array = new Uint8Array(0)
  #from = 0
  /** Where the next frame begins. */
  at: number

  private constructor(file: OpenFile, size: number, at: number) {
    this.#file = file
    this.#size = size
    this.at = at
  }

  static async of(file: OpenFile, at: number): Promise<FrameSource> {
    return new FrameSource(file, await file.size(), at)
  }

  get size(): number {
    return this.#size
  }

  /** What the next frame holds, if it is the one with this number and intact; else it stays where it is. */
  async next(number: number): Promise<Uint8Array | undefined> {
    const frame = await this.#frameAt(this.at)
    if (frame === undefined || headerAt(frame, 0)?.number !== number || !isIntact(frame)) return undefined
    this.at += frame.length
    return frame.subarray(FRAME_HEADER)
  }

  /** Where what lies behind the last frame ends; nothing but zeros are behind that, which were written ahead. */
  async end(): Promise<number> {
    let end = this.at
    for (let at = this.at; at < this.#size; at += CHUNK) {
      const bytes = await this.#file.read(at, Math.min(CHUNK, this.#size - at))
      let length = bytes.length
      while (length > 0 && bytes[length - 1] === 0) length--
      if (length > 0) end = at + length
    }
    return end
  }

  /** Whether an intact frame with a greater number lies somewhere before `to`: then what is here was there once. */
  async hasLater(number: number, to: number): Promise<boolean> {
    const end = Math.min(to, this.at + MOST_SEARCHED)
    for (let at = this.at + 1; at + FRAME_HEADER <= end; at++) {
      if (!this.#has(at, FRAME_HEADER)) await this.#need(at, FRAME_HEADER)
      const found = headerAt(this.#bytes, at - this.#from)?.number ?? 0
      if (!Number.isSafeInteger(found) || found <= number || found > number + MOST_SEARCHED) continue
      const frame = await this.#frameAt(at)
      if (frame !== undefined && isIntact(frame)) return true
    }
    return false
  }

  async #frameAt(at: number): Promise<Uint8Array | undefined> {
    await this.#need(at, FRAME_HEADER)
    const header = headerAt(this.#bytes, at - this.#from)
    if (header === undefined || at + FRAME_HEADER + header.length > this.#size) return undefined
    await this.#need(at, FRAME_HEADER + header.length)
    const frame = this.#bytes.subarray(at - this.#from, at - this.#from + FRAME_HEADER + header.length)
    return frame.length === FRAME_HEADER + header.length ? frame : undefined
  }

  #has(at: number, length: number): boolean {
    return at >= this.#from && at + length <= this.#from + this.#bytes.length
  }

  async #need(at: number, length: number): Promise<void> {
    if (this.#has(at, length)) return
    if (this.#from + this.#bytes.length === this.#size && at >= this.#from && at + length > this.#size) return
    this.#bytes = await this.#file.read(at, Math.max(CHUNK, length))
    this.#from = at
  }
}
