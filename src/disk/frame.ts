import { crc32 } from 'node:zlib'

/** Before each frame: its length, its number, and a checksum of both and of what it holds. */
export const FRAME_HEADER = 16

/** Fills in the header of a frame whose first bytes were left for it. */
export function seal(frame: Uint8Array, number: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  view.setUint32(0, frame.length - FRAME_HEADER)
  view.setFloat64(4, number)
  view.setUint32(12, checksum(frame))
  return frame
}

/** What a frame that begins at a place says, as far as its header goes. */
export interface FrameHeader {
  /** Of what it holds, bytes. */
  readonly length: number
  readonly number: number
}

/** The header at a place, `undefined` where there are too few bytes. */
export function headerAt(bytes: Uint8Array, at: number): FrameHeader | undefined {
  if (bytes.length - at < FRAME_HEADER) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, FRAME_HEADER)
  return { length: view.getUint32(0), number: view.getFloat64(4) }
}

/** Whether a whole frame is what was written. */
export function isIntact(frame: Uint8Array): boolean {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  return view.getUint32(12) === checksum(frame)
}

const checksum = (frame: Uint8Array): number => crc32(frame.subarray(FRAME_HEADER), crc32(frame.subarray(0, 12)))
