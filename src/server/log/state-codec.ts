import { readHlc, writeHlc } from '../../core/hlc/hlc.js'
import { ByteReader, ByteWriter } from '../../core/util/byte-codec.js'
import type { State, StateLoader, StateRecord } from '../engine/records.js'
import { damagedError } from './errors.js'

const BLOCK = { head: 1, older: 2, younger: 3, records: 4, end: 5 } as const
const FLAG = { volatile: 1, owner: 2 } as const
/** The size in bytes at which a block ends. */
const BLOCK_BYTES = 128 * 1024
const EMPTY: Uint8Array = new Uint8Array(0)

/**
 * Encodes a state in blocks. Equal states give equal blocks. Leaves `header` bytes at the beginning of each block for
 * the log that stores the block.
 */
export function* encodeState(state: State, header = 0): Generator<Uint8Array, void> {
  const head = beginBlock(BLOCK.head, header)
  head.optional(state.createdAt)
  writeHlc(head, state.version)
  head.float64(state.lastNumber)
  head.float64(state.size)
  if (state.expiredUntil !== undefined) head.float64(state.expiredUntil)
  yield head.done()
  const [older, younger] = state.replies
  yield encodeBytesBlock(BLOCK.older, older, header)
  yield encodeBytesBlock(BLOCK.younger, younger, header)
  yield* encodeBlocks(BLOCK.records, state.records, header, writeRecord)
  yield beginBlock(BLOCK.end, header).done()
}

export type StateHead = Pick<State, 'createdAt' | 'version' | 'lastNumber' | 'size' | 'expiredUntil'>

export type StateBlock =
  | ({ readonly kind: 'head' } & StateHead)
  | { readonly kind: 'older' | 'younger'; readonly bytes: Uint8Array }
  /** Records that are decoded lazily. Iterating throws `damaged` at the first invalid record. */
  | { readonly kind: 'records'; readonly records: Iterable<StateRecord> }
  | { readonly kind: 'end' }

/** Decodes one block of a state. Throws `damaged` if the block is invalid. */
export function decodeBlock(block: Uint8Array): StateBlock {
  const reader = new ByteReader(block)
  const kind = reader.uint8()
  if (kind === BLOCK.head) return { kind: 'head', ...readHead(reader) }
  if (kind === BLOCK.older) return { kind: 'older', bytes: new Uint8Array(reader.blob()) }
  if (kind === BLOCK.younger) return { kind: 'younger', bytes: new Uint8Array(reader.blob()) }
  if (kind === BLOCK.records) return { kind: 'records', records: readRecords(reader) }
  if (kind === BLOCK.end) return { kind: 'end' }
  throw damagedError(`it contains a block of unknown kind ${kind}`)
}

function* readRecords(reader: ByteReader): Generator<StateRecord, void> {
  while (!reader.isAtEnd) yield readRecord(reader)
}

/** Restores records from blocks. Throws `damaged` if the blocks do not form a state. */
export class StateDecoder {
  readonly #loader: StateLoader
  #older = EMPTY
  #younger = EMPTY
  #keyCount = 0
  #head: StateHead | undefined
  #isComplete = false

  /** @param loader - loader that receives the records; callers must discard it after `damaged` */
  constructor(loader: StateLoader) {
    this.#loader = loader
  }

  get keyCount(): number {
    return this.#keyCount
  }

  /** Returns whether the last block was decoded and the loader has the complete state. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  addBlock(block: Uint8Array): void {
    const part = decodeBlock(block)
    if (this.#isComplete || (this.#head === undefined) !== (part.kind === 'head'))
      throw damagedError('its blocks are out of order')
    if (part.kind === 'head') this.#head = part
    else if (part.kind === 'older') this.#older = part.bytes
    else if (part.kind === 'younger') this.#younger = part.bytes
    else if (part.kind === 'records') this.#restoreRecords(part.records)
    else this.#finish()
  }

  #restoreRecords(records: Iterable<StateRecord>): void {
    for (const record of records) {
      this.#loader.restoreRecord(record)
      this.#keyCount++
    }
  }

  #finish(): void {
    if (this.#head?.size !== this.#keyCount)
      throw damagedError('its number of keys differs from the number in its header')
    const { createdAt, version, lastNumber, expiredUntil } = this.#head
    const replies = [this.#older, this.#younger] as const
    this.#loader.finishRestore({ createdAt, version, lastNumber, expiredUntil, replies })
    this.#isComplete = true
  }
}

function beginBlock(kind: number, header: number): ByteWriter {
  const writer = new ByteWriter()
  for (let i = 0; i < header; i++) writer.uint8(0)
  writer.uint8(kind)
  return writer
}

function encodeBytesBlock(kind: number, bytes: Uint8Array, header: number): Uint8Array {
  const writer = beginBlock(kind, header)
  writer.blob(bytes)
  return writer.done()
}

function* encodeBlocks<T>(
  kind: number,
  items: Iterable<T>,
  header: number,
  write: (writer: ByteWriter, item: T) => void,
): Generator<Uint8Array, void> {
  let writer: ByteWriter | undefined
  for (const item of items) {
    writer ??= beginBlock(kind, header)
    write(writer, item)
    if (writer.length < BLOCK_BYTES) continue
    yield writer.done()
    writer = undefined
  }
  if (writer !== undefined) yield writer.done()
}

function readHead(reader: ByteReader): StateHead {
  const [createdAt, version] = [reader.optional(), readHlc(reader)]
  if (version === undefined) throw damagedError('it has no version')
  const [lastNumber, size] = [reader.float64(), reader.float64()]
  const expiredUntil = reader.isAtEnd ? undefined : reader.float64()
  return { createdAt, version, lastNumber, size, ...(expiredUntil !== undefined && { expiredUntil }) }
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
  // The value is copied, because a view would keep the whole block in memory as long as one record refers to it.
  const value = new Uint8Array(reader.blob())
  const version = readHlc(reader)
  if (version === undefined) throw damagedError('it contains a record without a version')
  const fencingToken = readHlc(reader)
  const expiresAt = reader.optional()
  const flags = reader.uint8()
  const volatile = flags & FLAG.volatile ? true : undefined
  const owner = flags & FLAG.owner ? reader.text() : undefined
  return { number, id, value, version, fencingToken, expiresAt, volatile, owner }
}
