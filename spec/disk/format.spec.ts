import { describe, expect, it } from 'vitest'
import { checkHead, FORMAT, head } from '../../src/disk/format.js'
import { FRAME_HEADER, seal } from '../../src/disk/frame.js'

/** The head of a file as another version writes it. */
function headOf(format: number): Uint8Array {
  const frame = head('log', 7).slice()
  new DataView(frame.buffer).setUint32(FRAME_HEADER, format)
  return seal(frame, 7)
}

describe('A file on the disk', () => {
  it('may be of this format, or of an older one', () => {
    for (let format = 1; format <= FORMAT; format++)
      expect(() => checkHead('log-7', headOf(format), 'log', 7)).not.toThrow()
  })

  it.each([0, FORMAT + 1])('may not be of format %i', format => {
    expect(() => checkHead('log-7', headOf(format), 'log', 7)).toThrow(
      `has format ${format}, and this version knows 1 to`,
    )
  })
})
