import { readHlc, writeHlc } from '../../core/hlc/hlc.js'
import { ByteReader, ByteWriter } from '../../core/util/byte-codec.js'
import type { State, StateLoader, StateRecord } from '../engine/records.js'
import { damaged } from './errors.js'

const BLOCK = { head: 1, older: 2, younger: 3, records: 4, end: 5 } as const
const FLAG = { volatile: 1, owner: 2 } as const
/** A block ends when it has so many bytes. */
const BLOCK_SIZE = 128 * 1024
const NOTHING: Uint8Array = new Uint8Array(0)

/**
 * A state as bytes, in blocks: equal states give equal blocks. `header` bytes of each are left for the log that stores
 * them.
 */
export function* encodeState(state: State, header = 0): Generator<Uint8Array, void> {
  const head = begin(BLOCK.head, header)
  head.optional(state.createdAt)
  writeHlc(head, state.version)
  head.float64(state.lastNumber)
  head.float64(state.size)
  yield head.done()
  const [older, younger] = state.replies
  yield withBytes(BLOCK.older, older, header)
  yield withBytes(BLOCK.younger, younger, header)
  yield* blocks(BLOCK.records, state.records, header, writeRecord)
  yield begin(BLOCK.end, header).done()
}

/** What a state is besides its records and answers. */
export type StateHead = Pick<State, 'createdAt' | 'version' | 'lastNumber' | 'size'>

/** What a block holds. */
export type StateBlock =
  | ({ readonly kind: 'head' } & StateHead)
  | { readonly kind: 'older' | 'younger'; readonly bytes: Uint8Array }
  /** Read as they are asked for, which raises `damaged` at the first that cannot be one. */
  | { readonly kind: 'records'; readonly records: Iterable<StateRecord> }
  | { readonly kind: 'end' }

/** Reads one block of a state. Raises `damaged` unless it is one. */
export function decodeBlock(block: Uint8Array): StateBlock {
  const reader = new ByteReader(block)
  const kind = reader.uint8()
  if (kind === BLOCK.head) return { kind: 'head', ...readHead(reader) }
  if (kind === BLOCK.older) return { kind: 'older', bytes: new Uint8Array(reader.blob()) }
  if (kind === BLOCK.younger) return { kind: 'younger', bytes: new Uint8Array(reader.blob()) }
  if (kind === BLOCK.records) return { kind: 'records', records: recordsOf(reader) }
  if (kind === BLOCK.end) return { kind: 'end' }
  throw damaged(`it has a block of the unknown kind ${kind}`)
}

function* recordsOf(reader: ByteReader): Generator<StateRecord, void> {
  while (!reader.ended) yield readRecord(reader)
}

/** Hands on what is in blocks, record by record. Raises `damaged` unless they make a state. */
export class StateDecoder {
  readonly #taker: StateLoader
  #older = NOTHING
  #younger = NOTHING
  #keys = 0
  #head: StateHead | undefined
  #ended = false

  /** @param taker - is of no use when a block is damaged */
  constructor(taker: StateLoader) {
    this.#taker = taker
  }

  /** Number of keys so far. */
  get keys(): number {
    return this.#keys
  }

  /** Whether the state is whole, and the taker has it. */
  get ended(): boolean {
    return this.#ended
  }

  take(block: Uint8Array): void {
    const part = decodeBlock(block)
    if (this.#ended || (this.#head === undefined) !== (part.kind === 'head'))
      throw damaged('its blocks are out of order')
    if (part.kind === 'head') this.#head = part
    else if (part.kind === 'older') this.#older = part.bytes
    else if (part.kind === 'younger') this.#younger = part.bytes
    else if (part.kind === 'records') this.#takeRecords(part.records)
    else this.#end()
  }

  #takeRecords(records: Iterable<StateRecord>): void {
    for (const record of records) {
      this.#taker.restoreRecord(record)
      this.#keys++
    }
  }

  #end(): void {
    if (this.#head?.size !== this.#keys) throw damaged('it has not as many keys as it says')
    const { createdAt, version, lastNumber } = this.#head
    this.#taker.finishRestore({ createdAt, version, lastNumber, replies: [this.#older, this.#younger] })
    this.#ended = true
  }
}

function begin(kind: number, header: number): ByteWriter {
  const writer = new ByteWriter()
  for (let i = 0; i < header; i++) writer.uint8(0)
  writer.uint8(kind)
  return writer
}

function withBytes(kind: number, bytes: Uint8Array, header: number): Uint8Array {
  const writer = begin(kind, header)
  writer.blob(bytes)
  return writer.done()
}

function* blocks<T>(
  kind: number,
  items: Iterable<T>,
  header: number,
  write: (writer: ByteWriter, item: T) => void,
): Generator<Uint8Array, void> {
  let writer: ByteWriter | undefined
  for (const item of items) {
    writer ??= begin(kind, header)
    write(writer, item)
    if (writer.length < BLOCK_SIZE) continue
    yield writer.done()
    writer = undefined
  }
  if (writer !== undefined) yield writer.done()
}

function readHead(reader: ByteReader): StateHead {
  const [createdAt, version] = [reader.optional(), readHlc(reader)]
  if (version === undefined) throw damaged('it has no version')
  return { createdAt, version, lastNumber: reader.float64(), size: reader.float64() }
}

function writeRecord(writer: ByteWriter, record: StateRecord): void {
  writer.float64(record.number)
  writer.binary(record.id)
  writer.blob(record.value)
  writeHlc(writer, record.version)
  writeHlc(writer, record.fencingToken)
  writer.optional(record.expiresAt)
  writer.uint8((record.volatile ? FLAG.volatile : 0) | (record.owner === undefined ? 0 : FLAG.owner))
  if (record.owner !== undefined) writer.text(record.owner)
}

function readRecord(reader: ByteReader): StateRecord {
  const number = reader.float64()
  const id = reader.binary()
  // A copy: the block is gone when all others have changed.
  const value = new Uint8Array(reader.blob())
  const version = readHlc(reader)
  if (version === undefined) throw damaged('it has a record without a version')
  const fencingToken = readHlc(reader)
  const expiresAt = reader.optional()
  const flags = reader.uint8()
  const volatile = flags & FLAG.volatile ? true : undefined
  const owner = flags & FLAG.owner ? reader.text() : undefined
  return { number, id, value, version, fencingToken, expiresAt, volatile, owner }
}
