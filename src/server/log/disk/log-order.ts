import type { Files } from './files.js'
import { HEAD_SIZE, nameOf } from './format.js'
import { FRAME_HEADER } from './frame.js'

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
