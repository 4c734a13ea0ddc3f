import { crc32 } from 'node:zlib'
import { concatBytes } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { State, StateTaker } from '../../engine/state.js'
import { damaged } from '../errors.js'
import { encodeState, StateDecoder } from '../state-codec.js'

const MAGIC = 0x72787370
/** Of snapshots that a version cannot read the number differs. */
const FORMAT = 1
/** What a snapshot begins with, bytes. */
const HEAD = 8
/** Before each block: its length, and a checksum of it and of all before it. */
const BLOCK_HEAD = 8
/** No block is longer, bytes: it has one record at least, and an entry is not larger. */
const LONGEST_BLOCK = 256 * 1024 * 1024

/**
 * A snapshot as blocks, one by one: what nodes share beside the engine's state, and that. Each block has a checksum of all
 * that came so far, so that none can be missing.
 */
export function* encodeSnapshot(shared: Uint8Array, state: State): Generator<Uint8Array, void> {
  const head = new Uint8Array(HEAD)
  const view = new DataView(head.buffer)
  view.setUint32(0, MAGIC)
  view.setUint32(4, FORMAT)
  yield head
  const first = new Uint8Array(BLOCK_HEAD + shared.length)
  first.set(shared, BLOCK_HEAD)
  let sum = seal(first, 0)
  yield first
  for (const block of encodeState(state, BLOCK_HEAD)) {
    sum = seal(block, sum)
    yield block
  }
}

function seal(block: Uint8Array, before: number): number {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  const sum = crc32(block.subarray(BLOCK_HEAD), before)
  view.setUint32(0, block.length - BLOCK_HEAD)
  view.setUint32(4, sum)
  return sum
}

/** Reads a snapshot from bytes that come cut anywhere. Raises `damaged`, and `format` for one of another version. */
export class SnapshotReader {
  readonly #shared: (bytes: Uint8Array) => void
  readonly #state: StateDecoder
  #rest: Uint8Array = new Uint8Array(0)
  /** What came behind the rest, and is not needed yet. */
  #more: Uint8Array[] = []
  #length = 0
  #needed = HEAD
  #sum = 0
  #at: 'head' | 'shared' | 'state' = 'head'

  /** @param shared - takes what nodes share @param taker - takes the engine's state; both are of no use when it is damaged */
  constructor(shared: (bytes: Uint8Array) => void, taker: StateTaker) {
    this.#shared = shared
    this.#state = new StateDecoder(taker)
  }

  /** Number of keys so far. */
  get keys(): number {
    return this.#state.keys
  }

  take(bytes: Uint8Array): void {
    this.#more.push(bytes)
    this.#length += bytes.length
    if (this.#length < this.#needed) return
    this.#rest = concatBytes([this.#rest, ...this.#more])
    this.#more = []
    let at = 0
    for (let used = this.#next(at); used > 0; used = this.#next(at)) at += used
    this.#rest = this.#rest.subarray(at)
    this.#length = this.#rest.length
  }

  /** There are no more bytes. */
  end(): void {
    if (!this.#state.ended || this.#length > 0) throw damaged('the snapshot ends too early, or too late')
  }

  /** Takes the next block; returns how long it is, or 0 when it is not there as a whole. */
  #next(at: number): number {
    const left = this.#rest.length - at
    const view = new DataView(this.#rest.buffer, this.#rest.byteOffset + at, left)
    this.#needed = this.#at === 'head' ? HEAD : BLOCK_HEAD
    if (left < this.#needed) return 0
    if (this.#at === 'head') return this.#begin(view)
    const length = view.getUint32(0)
    if (length > LONGEST_BLOCK) throw damaged('the snapshot has a block that is too long')
    this.#needed += length
    if (left < this.#needed) return 0
    this.#block(this.#rest.subarray(at + BLOCK_HEAD, at + this.#needed), view.getUint32(4))
    return this.#needed
  }

  #begin(view: DataView): number {
    if (view.getUint32(0) !== MAGIC) throw damaged('it is no snapshot of a store')
    const format = view.getUint32(4)
    if (format !== FORMAT)
      throw new StateStoreError(
        'format',
        `the snapshot has the format ${format}, and this version knows ${FORMAT} alone`,
      )
    this.#at = 'shared'
    return HEAD
  }

  #block(block: Uint8Array, sum: number): void {
    this.#sum = crc32(block, this.#sum)
    if (sum !== this.#sum) throw damaged('the checksum of the snapshot is wrong')
    if (this.#at === 'shared') this.#shared(block)
    else this.#state.take(block)
    this.#at = 'state'
  }
}
