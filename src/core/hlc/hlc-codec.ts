import type { ByteReader } from '../util/byte-reader.js'
import type { ByteWriter } from '../util/byte-writer.js'
import { Hlc } from './hlc.js'

/** The node id of nearly all versions. */
const STORE = 'StateStore'
const [NONE, OF_STORE, OF_ANOTHER] = [0, 1, 2]

/** Writes a clock, or none. */
export function writeHlc(writer: ByteWriter, hlc: Hlc | undefined): void {
  if (hlc === undefined) {
    writer.uint8(NONE)
    return
  }
  const { wallClock, counter, nodeId } = hlc
  writer.uint8(nodeId === STORE ? OF_STORE : OF_ANOTHER)
  writer.float64(wallClock)
  writer.float64(counter)
  if (nodeId !== STORE) writer.text(nodeId)
}

/** Reads a clock, or none. */
export function readHlc(reader: ByteReader): Hlc | undefined {
  const kind = reader.uint8()
  if (kind === NONE) return undefined
  const [wallClock, counter] = [reader.float64(), reader.float64()]
  return new Hlc(wallClock, counter, kind === OF_STORE ? STORE : reader.text())
}
