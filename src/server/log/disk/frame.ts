import { randomFillSync } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Before each frame: its length, its number, and a checksum of both and of what it holds. */
export const FRAME_HEADER = 16

/**
 * Eight random bytes of a file, with which the numbers in its frames are masked (XOR). A client cannot know them, so that
 * nothing it stores in a value can pass for a frame.
 */
export type Salt = Uint8Array

export const SALT_SIZE = 8
const NUMBER_AT = 4
const SUM_AT = 12

/** Of files whose numbers are not masked. */
export const NO_SALT: Salt = new Uint8Array(SALT_SIZE)

/** The salt of a new file. */
export const newSalt = (): Salt => randomFillSync(new Uint8Array(SALT_SIZE))

/** Fills in the header of a frame whose first bytes were left for it. */
export function seal(frame: Uint8Array, number: number, salt: Salt): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  view.setUint32(0, frame.length - FRAME_HEADER)
  view.setFloat64(NUMBER_AT, number)
  mask(frame, salt)
  view.setUint32(SUM_AT, checksum(frame))
  return frame
}

/** What a frame that begins at a place says, as far as its header goes. */
export interface FrameHeader {
  /** Of what it holds, bytes. */
  readonly length: number
  readonly number: number
}

/** The header at a place, `undefined` where there are too few bytes. */
export function headerAt(bytes: Uint8Array, at: number, salt: Salt): FrameHeader | undefined {
  if (bytes.length - at < FRAME_HEADER) return undefined
  const header = bytes.slice(at, at + FRAME_HEADER)
  mask(header, salt)
  const view = new DataView(header.buffer)
  return { length: view.getUint32(0), number: view.getFloat64(NUMBER_AT) }
}

/** The salt with which a header would have this number. */
export function saltOf(header: Uint8Array, number: number): Salt {
  const plain = new Uint8Array(FRAME_HEADER)
  new DataView(plain.buffer).setFloat64(NUMBER_AT, number)
  mask(plain, header.subarray(NUMBER_AT, NUMBER_AT + SALT_SIZE))
  return plain.slice(NUMBER_AT, NUMBER_AT + SALT_SIZE)
}

/** Whether a whole frame is what was written. */
export function isIntact(frame: Uint8Array): boolean {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  return view.getUint32(SUM_AT) === checksum(frame)
}

function mask(header: Uint8Array, salt: Salt): void {
  for (let i = 0; i < SALT_SIZE; i++) header[NUMBER_AT + i] = (header[NUMBER_AT + i] ?? 0) ^ (salt[i] ?? 0)
}

const checksum = (frame: Uint8Array): number => crc32(frame.subarray(FRAME_HEADER), crc32(frame.subarray(0, SUM_AT)))
