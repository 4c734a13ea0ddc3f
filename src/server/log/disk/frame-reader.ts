import type { Files, OpenFile } from './files.js'
import {
  deriveSalt,
  FILE_HEAD_BYTES,
  FRAME_HEADER_BYTES,
  fileNameOf,
  isIntact,
  NO_SALT,
  readFrameHeader,
  type Salt,
} from './format.js'

const CHUNK_BYTES = 1024 * 1024
/** The multiple of the searched bytes that a search may checksum in a file without a salt. */
const MAX_UNSALTED_PASSES = 8
/** The range of the first byte of a big-endian float64 from 1 to 2^53. */
const NUMBER_FIRST_BYTE = { min: 0x3f, max: 0x43 } as const

export interface FrameLocation {
  readonly offset: number
  readonly length: number
}

export class FrameReader {
  readonly #file: OpenFile
  readonly #size: number
  readonly #salt: Salt
  #buffer: Uint8Array = new Uint8Array(0)
  #bufferOffset = 0
  #lastFrame: FrameLocation
  #offset: number

  private constructor(file: OpenFile, size: number, offset: number, salt: Salt) {
    this.#file = file
    this.#size = size
    this.#salt = salt
    this.#lastFrame = { offset: 0, length: offset }
    this.#offset = offset
  }

  /** @param offset - size of the file's head in bytes */
  static async open(file: OpenFile, offset: number, salt: Salt): Promise<FrameReader> {
    return new FrameReader(file, await file.size(), offset, salt)
  }

  get size(): number {
    return this.#size
  }

  get offset(): number {
    return this.#offset
  }

  /** The location of the last frame read. Initially, it is the head of the file. */
  get lastFrame(): FrameLocation {
    return this.#lastFrame
  }

  /**
   * Returns the payload of the next frame if the frame is intact and has this number. Otherwise the reader does not
   * advance and returns `undefined`.
   */
  async readFrame(number: number): Promise<Uint8Array | undefined> {
    const frame = await this.#frameAt(this.#offset)
    if (frame === undefined || readFrameHeader(frame, 0, this.#salt)?.number !== number || !isIntact(frame))
      return undefined
    this.#lastFrame = { offset: this.#offset, length: frame.length }
    this.#offset += frame.length
    return frame.subarray(FRAME_HEADER_BYTES)
  }

  /** Returns the end of the last nonzero byte. The zeros after it are preallocated. */
  async findWrittenEnd(): Promise<number> {
    let end = this.#offset
    for (let offset = this.#offset; offset < this.#size; offset += CHUNK_BYTES) {
      const bytes = await this.#file.read(offset, Math.min(CHUNK_BYTES, this.#size - offset))
      let length = bytes.length
      while (length > 0 && bytes[length - 1] === 0) length--
      if (length > 0) end = offset + length
    }
    return end
  }

  /**
   * Advances to the next intact frame with a greater number that starts before `to`, and returns its number. If there
   * is no such frame, the reader does not advance and returns `undefined`, or `unclear` in a file without a salt whose
   * values contain too many apparent headers.
   *
   * With a salt, no value can contain an apparent header, so each byte is visited once and only real frames are
   * checksummed.
   */
  async seekFrame(number: number, to: number): Promise<number | 'unclear' | undefined> {
    let remainingBytes =
      this.#salt === NO_SALT ? MAX_UNSALTED_PASSES * (to - this.#offset) + CHUNK_BYTES : Number.POSITIVE_INFINITY
    const [salt = 0] = this.#salt
    for (let offset = this.#offset + 1; offset + FRAME_HEADER_BYTES <= to; offset++) {
      if (!this.#isLoaded(offset, FRAME_HEADER_BYTES)) await this.#load(offset, FRAME_HEADER_BYTES)
      const first = (this.#buffer[offset - this.#bufferOffset + 4] ?? 0) ^ salt
      if (first < NUMBER_FIRST_BYTE.min || first > NUMBER_FIRST_BYTE.max) continue
      const header = readFrameHeader(this.#buffer, offset - this.#bufferOffset, this.#salt)
      if (header === undefined || !isPlausible(header.number, number, to - this.#offset)) continue
      const frame = await this.#frameAt(offset)
      if (frame === undefined) continue
      if (isIntact(frame)) {
        this.#offset = offset
        return header.number
      }
      remainingBytes -= frame.length
      if (remainingBytes < 0) return 'unclear'
    }
    return undefined
  }

  async #frameAt(offset: number): Promise<Uint8Array | undefined> {
    await this.#load(offset, FRAME_HEADER_BYTES)
    const header = readFrameHeader(this.#buffer, offset - this.#bufferOffset, this.#salt)
    if (header === undefined || offset + FRAME_HEADER_BYTES + header.length > this.#size) return undefined
    await this.#load(offset, FRAME_HEADER_BYTES + header.length)
    const frame = this.#buffer.subarray(
      offset - this.#bufferOffset,
      offset - this.#bufferOffset + FRAME_HEADER_BYTES + header.length,
    )
    return frame.length === FRAME_HEADER_BYTES + header.length ? frame : undefined
  }

  #isLoaded(offset: number, length: number): boolean {
    return offset >= this.#bufferOffset && offset + length <= this.#bufferOffset + this.#buffer.length
  }

  async #load(offset: number, length: number): Promise<void> {
    if (this.#isLoaded(offset, length)) return
    if (
      this.#bufferOffset + this.#buffer.length === this.#size &&
      offset >= this.#bufferOffset &&
      offset + length > this.#size
    )
      return
    this.#buffer = await this.#file.read(offset, Math.max(CHUNK_BYTES, length))
    this.#bufferOffset = offset
  }
}

/**
 * Returns whether a frame can have the number found. Every frame takes at least one byte, so the numbers cannot differ
 * by more than the bytes in between.
 */
const isPlausible = (found: number, number: number, bytes: number): boolean =>
  Number.isSafeInteger(found) && found > number && found - number <= bytes

/**
 * Returns the start position of the first of several logs that contains an entry, or infinity if none does. The
 * previous log ends at that position, even if a former owner appended further entries.
 */
export async function nextLogWithEntries(files: Files, positions: readonly number[]): Promise<number> {
  for (const position of positions) {
    const file = await files.open(fileNameOf('log', position), false)
    try {
      const header = await file.read(FILE_HEAD_BYTES, FRAME_HEADER_BYTES)
      if (header.some(byte => byte !== 0)) return position
    } finally {
      await file.close()
    }
  }
  return Number.POSITIVE_INFINITY
}

const MAX_SALT_SEARCH_BYTES = 512 * 1024 * 1024
/** The multiple of the file's bytes that a salt search may checksum. */
const MAX_SALT_SEARCH_PASSES = 8

/**
 * Recovers the salt of a log whose head and first frames are destroyed. Checksums do not depend on the salt, so the
 * search finds a chain of intact frames that reaches the end of the log. The last frame of the chain has the position
 * of the commit mark. A chain inside a value cannot reach the end, because the remaining bytes of its entry follow.
 *
 * @param writtenEnd - end of the log in bytes
 * @param markedPosition - position of the last entry
 */
export async function searchSalt(
  file: OpenFile,
  writtenEnd: number,
  markedPosition: number,
): Promise<Salt | undefined> {
  if (writtenEnd > MAX_SALT_SEARCH_BYTES) return undefined
  const bytes = await file.read(0, await file.size())
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let remainingBytes = MAX_SALT_SEARCH_PASSES * writtenEnd
  for (let start = 0; start + FRAME_HEADER_BYTES < writtenEnd && remainingBytes > 0; start++) {
    let last = -1
    let offset = start
    while (offset < writtenEnd && offset + FRAME_HEADER_BYTES <= bytes.length) {
      const end = offset + FRAME_HEADER_BYTES + view.getUint32(offset)
      if (end === offset + FRAME_HEADER_BYTES || end > bytes.length) break
      remainingBytes -= end - offset
      if (!isIntact(bytes.subarray(offset, end))) break
      last = offset
      offset = end
    }
    if (last >= 0 && offset >= writtenEnd)
      return normalizeSalt(deriveSalt(bytes.subarray(last, last + FRAME_HEADER_BYTES), markedPosition))
  }
  return undefined
}

/** Returns {@link NO_SALT} for an all-zero salt, which callers compare by identity to limit their searches. */
export const normalizeSalt = (salt: Salt): Salt => (salt.every(byte => byte === 0) ? NO_SALT : salt)
