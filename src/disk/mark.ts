import { FRAME_HEADER, headerAt, isIntact, seal } from './frame.js'

/** Says up to which position entries were committed. */
export const markOf = (position: number): Uint8Array => seal(new Uint8Array(FRAME_HEADER), position)

/** The position of a mark, `undefined` when it is not what was written. */
export function readMark(bytes: Uint8Array): number | undefined {
  if (bytes.length !== FRAME_HEADER || headerAt(bytes, 0)?.length !== 0 || !isIntact(bytes)) return undefined
  return headerAt(bytes, 0)?.number
}
