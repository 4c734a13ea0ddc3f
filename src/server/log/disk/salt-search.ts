import type { OpenFile } from './files.js'
import { FRAME_HEADER, isIntact, NO_SALT, type Salt, saltOf } from './frame.js'

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
