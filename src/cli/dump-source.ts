import type { IncomingMessage } from 'node:http'
import { from, lastValueFrom, map, mergeMap, toArray } from 'rxjs'
import { bytes, type Entry, type Key, type StateStore } from '../client/index.js'
import { toDumpLine } from '../node/dump/codec.js'
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

/** The dump in the answer of a console; raises what ends the answer early. */
export async function* piecesOfAnswer(answer: IncomingMessage): AsyncGenerator<DumpPiece, void> {
  for await (const chunk of answer) yield { data: chunk, keys: linesIn(chunk) }
}

/** Number of line ends. */
export function linesIn(chunk: Uint8Array): number {
  let count = 0
  for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) count++
  return count
}

/** All keys of a store, read one by one: those that are deleted meanwhile are left out. */
export async function* piecesOfStore(store: StateStore): AsyncGenerator<DumpPiece, void> {
  let batch: Key<Uint8Array>[] = []
  for await (const key of store.scan('*', bytes)) {
    batch.push(key)
    if (batch.length < BATCH) continue
    yield await read(batch)
    batch = []
  }
  yield await read(batch)
}

/** All keys in the directory of a store, with all there is to them. */
export async function* piecesOfDirectory(directory: string): AsyncGenerator<DumpPiece, void> {
  for (const line of await readDirectory(directory)) yield { data: `${JSON.stringify(line)}\n`, keys: 1 }
}

async function read(keys: readonly Key<Uint8Array>[]): Promise<DumpPiece> {
  const lines$ = from(keys).pipe(
    mergeMap(key => key.get().pipe(map(entry => lineOf(key, entry))), CONCURRENCY),
    toArray(),
  )
  const lines = (await lastValueFrom(lines$)).filter(line => line !== '')
  return { data: lines.join(''), keys: lines.length }
}

function lineOf({ bytes: key }: Key<Uint8Array>, { op, value, version }: Entry<Uint8Array>): string {
  if (op !== 'set' || value === undefined) return ''
  const line = toDumpLine({ key, value, version, expiresAt: undefined, fencingToken: undefined })
  return `${JSON.stringify(line)}\n`
}
