import type { Files, OpenFile } from './files.js'
import { FRAME_HEADER, HEAD_SIZE, headerAt, isIntact, NO_SALT, nameOf, type Salt, saltOf } from './format.js'

/** What is read at a time, bytes. */
const CHUNK = 1024 * 1024
/** How many times its bytes may be checksummed of a file without a salt. */
const UNSALTED_WORK = 8
/** The first byte of a number from 1 to 2^53. */
const FIRST_BYTE = { min: 0x3f, max: 0x43 } as const

/** Where a frame lies in a file. */
export interface FramePlace {
  readonly at: number
  readonly length: number
}

/** Reads the frames of a file one after the other. */
export class FrameReader {
  readonly #file: OpenFile
  readonly #size: number
  readonly #salt: Salt
  #bytes: Uint8Array = new Uint8Array(0)
  #from = 0
  #last: FramePlace
  #at: number

  private constructor(file: OpenFile, size: number, at: number, salt: Salt) {
    this.#file = file
    this.#size = size
    this.#salt = salt
    this.#last = { at: 0, length: at }
    this.#at = at
  }

  /** @param at - how long the head of the file is */
  static async of(file: OpenFile, at: number, salt: Salt): Promise<FrameReader> {
    return new FrameReader(file, await file.size(), at, salt)
  }

  get size(): number {
    return this.#size
  }

  /** Where the next frame begins. */
  get at(): number {
    return this.#at
  }

  /** The last frame that was read; at the beginning, the head. */
  get last(): FramePlace {
    return this.#last
  }

  /** Returns what the next frame holds if it is the one with this number and intact; else it stays where it is. */
  async next(number: number): Promise<Uint8Array | undefined> {
    const frame = await this.#frameAt(this.#at)
    if (frame === undefined || headerAt(frame, 0, this.#salt)?.number !== number || !isIntact(frame)) return undefined
    this.#last = { at: this.#at, length: frame.length }
    this.#at += frame.length
    return frame.subarray(FRAME_HEADER)
  }

  /** Returns where the last byte ends that is not zero: zeros are written ahead. */
  async end(): Promise<number> {
    let end = this.#at
    for (let at = this.#at; at < this.#size; at += CHUNK) {
      const bytes = await this.#file.read(at, Math.min(CHUNK, this.#size - at))
      let length = bytes.length
      while (length > 0 && bytes[length - 1] === 0) length--
      if (length > 0) end = at + length
    }
    return end
  }

  /**
   * Goes to the next intact frame with a greater number that begins before `to`, and returns its number. Without one it
   * stays where it is, and returns `undefined`, or `unclear` in a file without a salt whose values are full of headers.
   *
   * Values may hold anything, but with a salt nothing that passes for a header: so each byte is looked at once, and only
   * real frames are checksummed.
   */
  async seek(number: number, to: number): Promise<number | 'unclear' | undefined> {
    let work = this.#salt === NO_SALT ? UNSALTED_WORK * (to - this.#at) + CHUNK : Number.POSITIVE_INFINITY
    const [salt = 0] = this.#salt
    for (let at = this.#at + 1; at + FRAME_HEADER <= to; at++) {
      if (!this.#has(at, FRAME_HEADER)) await this.#need(at, FRAME_HEADER)
      const first = (this.#bytes[at - this.#from + 4] ?? 0) ^ salt
      if (first < FIRST_BYTE.min || first > FIRST_BYTE.max) continue
      const header = headerAt(this.#bytes, at - this.#from, this.#salt)
      if (header === undefined || !isPlausible(header.number, number, to - this.#at)) continue
      const frame = await this.#frameAt(at)
      if (frame === undefined) continue
      if (isIntact(frame)) {
        this.#at = at
        return header.number
      }
      work -= frame.length
      if (work < 0) return 'unclear'
    }
    return undefined
  }

  async #frameAt(at: number): Promise<Uint8Array | undefined> {
    await this.#need(at, FRAME_HEADER)
    const header = headerAt(this.#bytes, at - this.#from, this.#salt)
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

/** Whether a later frame may have a number: each takes some bytes. */
const isPlausible = (found: number, number: number, bytes: number): boolean =>
  Number.isSafeInteger(found) && found > number && found - number <= bytes

/**
 * Returns the position at which the first of several logs begins that has entries; infinite without one. There the log
 * before it ends, whatever a former owner has written to that later.
 */
export async function nextWritten(files: Files, positions: readonly number[]): Promise<number> {
  for (const position of positions) {
    const file = await files.open(nameOf('log', position), false)
    try {
      const header = await file.read(HEAD_SIZE, FRAME_HEADER)
      if (header.some(byte => byte !== 0)) return position
    } finally {
      await file.close()
    }
  }
  return Number.POSITIVE_INFINITY
}

/** A larger log is not searched, bytes. */
const MAX_SEARCHED = 512 * 1024 * 1024
/** How many times the bytes of a file may be checksummed. */
const WORK = 8

/**
 * Finds out the salt of a log whose head and first frames are destroyed. Checksums need no salt, so a chain of intact
 * frames can be found that goes on to the end of the log; its last frame has the position of the mark. A chain within a
 * value does not go on to the end, as more of the entry follows.
 *
 * @param written - where the log ends
 * @param marked - position of the last entry
 */
export async function searchSalt(file: OpenFile, written: number, marked: number): Promise<Salt | undefined> {
  if (written > MAX_SEARCHED) return undefined
  const bytes = await file.read(0, await file.size())
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let work = WORK * written
  for (let start = 0; start + FRAME_HEADER < written && work > 0; start++) {
    let last = -1
    let at = start
    while (at < written && at + FRAME_HEADER <= bytes.length) {
      const end = at + FRAME_HEADER + view.getUint32(at)
      if (end === at + FRAME_HEADER || end > bytes.length) break
      work -= end - at
      if (!isIntact(bytes.subarray(at, end))) break
      last = at
      at = end
    }
    if (last >= 0 && at >= written) return plainly(saltOf(bytes.subarray(last, last + FRAME_HEADER), marked))
  }
  return undefined
}

/** Files without a salt are read with more care. */
export const plainly = (salt: Salt): Salt => (salt.every(byte => byte === 0) ? NO_SALT : salt)
