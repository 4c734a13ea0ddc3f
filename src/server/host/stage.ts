import { ArgumentError, StateStoreError } from '../../core/util/errors.js'
import { type DumpLine, DumpReader, type DumpRecord, wrongLine } from '../../node/dump/codec.js'

/** Most that is gathered for one load, bytes, with what a record costs besides its key and value. */
const MOST_BYTES = 1024 * 1024 * 1024
const OVERHEAD = 500

/**
 * The records of a dump, all of them, so that one bad line spoils nothing. Raises {@link ArgumentError} with the number
 * of the line, `overflow` when there is too much, and what the lines raise themselves.
 *
 * @param latest - time a fencing token may have, ms since the Unix epoch
 */
export async function stage(
  lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
  latest: number,
): Promise<DumpRecord[]> {
  try {
    return await gather(lines, latest)
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw new ArgumentError(`${error.message}; nothing was loaded`, { cause: error })
  }
}

async function gather(
  lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
  latest: number,
): Promise<DumpRecord[]> {
  const records: DumpRecord[] = []
  const reader = new DumpReader()
  let bytes = 0
  for await (const line of lines) {
    const record = reader.read(line)
    if (record === undefined) continue
    const { number } = reader
    // The key could never be written: the store refuses such a token.
    if (record.fencingToken && record.fencingToken.wallClock > latest)
      throw wrongLine(number, "its `fencingToken` is ahead of this machine's clock")
    bytes += record.key.length + record.value.length + OVERHEAD
    if (bytes > MOST_BYTES) {
      throw new StateStoreError('overflow', `line ${number}: the dump has more than 1 GiB; nothing was loaded`)
    }
    records.push(record)
  }
  reader.end()
  return records
}
