import { hexPairs } from './value.js'

export interface HexRow {
  /** The row's offset, in hexadecimal. */
  readonly offset: string
  readonly bytes: string
  /** The bytes as ASCII, with a dot for unprintable ones. */
  readonly text: string
}

const BYTES_PER_ROW = 8

export function hexRows(bytes: Uint8Array): readonly HexRow[] {
  return Array.from({ length: Math.ceil(bytes.length / BYTES_PER_ROW) }, (_, row) => {
    const part = bytes.subarray(row * BYTES_PER_ROW, (row + 1) * BYTES_PER_ROW)
    return {
      offset: (row * BYTES_PER_ROW).toString(16).padStart(4, '0'),
      bytes: hexPairs(part),
      text: Array.from(part, byte => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join(''),
    }
  })
}
