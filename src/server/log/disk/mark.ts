import { FRAME_HEADER, headerAt, isIntact, NO_SALT, seal } from './frame.js'

/** Says up to which position entries were committed. */
export const markOf = (position: number): Uint8Array => seal(new Uint8Array(FRAME_HEADER), position, NO_SALT)

/** The position of a mark, `undefined` when it is not what was written. */
export function readMark(bytes: Uint8Array): number | undefined {
  if (bytes.length !== FRAME_HEADER || !isIntact(bytes)) return undefined
  const header = headerAt(bytes, 0, NO_SALT)
  return header?.length === 0 ? header.number : undefined
}
