import type { IncomingMessage } from 'node:http'
import { from, lastValueFrom, mergeMap, toArray } from 'rxjs'
import { bytes, type Entry, type Key, type StateStore } from '../client/index.js'
import { type DumpLine, DumpWriter, toDumpLine } from '../node/dump/codec.js'
import { readDirectory } from '../server/storage/directory.js'

/** Some lines of a dump. */
export interface DumpPiece {
  readonly data: string | Uint8Array
  /** Number of keys whose lines end in it. */
  readonly keys: number
}

/** Keys that are read at a time. */
const BATCH = 256
const CONCURRENCY = 64
const LINE_FEED = 0x0a

/** The dump in the answer of a console, with its first and last line; raises what ends the answer early. */
export async function* piecesOfAnswer(answer: IncomingMessage): AsyncGenerator<DumpPiece, void> {
  let isFirst = true
  for await (const chunk of answer) {
    yield { data: chunk, keys: linesIn(chunk) - (isFirst ? 1 : 0) }
    isFirst = false
  }
  yield { data: '', keys: -1 }
}

/** Number of line ends. */
export function linesIn(chunk: Uint8Array): number {
  let count = 0
  for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) count++
  return count
}

/** All keys of a store, read one by one: those that are deleted meanwhile are left out. */
export async function* piecesOfStore(store: StateStore): AsyncGenerator<DumpPiece, void> {
  const writer = new DumpWriter()
  yield { data: writer.begin(), keys: 0 }
  let batch: Key<Uint8Array>[] = []
  for await (const key of store.scan('*', bytes)) {
    batch.push(key)
    if (batch.length < BATCH) continue
    yield pieceOf(await read(batch), writer)
    batch = []
  }
  yield pieceOf(await read(batch), writer)
  yield { data: writer.end(), keys: 0 }
}

/** All keys in the directory of a store, with all there is to them. */
export async function* piecesOfDirectory(directory: string): AsyncGenerator<DumpPiece, void> {
  const lines = await readDirectory(directory)
  const writer = new DumpWriter()
  yield { data: writer.begin(), keys: 0 }
  for (const line of lines) yield pieceOf([line], writer)
  yield { data: writer.end(), keys: 0 }
}

const pieceOf = (lines: readonly DumpLine[], writer: DumpWriter): DumpPiece => ({
  data: lines.map(line => writer.line(line)).join(''),
  keys: lines.length,
})

async function read(keys: readonly Key<Uint8Array>[]): Promise<readonly DumpLine[]> {
  const lines$ = from(keys).pipe(
    mergeMap(key => key.get().pipe(mergeMap(entry => lineOf(key, entry))), CONCURRENCY),
    toArray(),
  )
  return lastValueFrom(lines$)
}

function lineOf({ bytes: key }: Key<Uint8Array>, { op, value, version }: Entry<Uint8Array>): readonly DumpLine[] {
  if (op !== 'set' || value === undefined) return []
  return [toDumpLine({ key, value, version, expiresAt: undefined, fencingToken: undefined })]
}
