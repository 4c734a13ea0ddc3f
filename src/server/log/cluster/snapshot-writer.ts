import { crc32 } from 'node:zlib'
import {
  catchError,
  concat,
  defer,
  EMPTY,
  last,
  map,
  mergeMap,
  type Observable,
  of,
  type Subscription,
  take,
  tap,
} from 'rxjs'
import { ByteWriter } from '../../../core/util/byte-codec.js'
import { concatBytes } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { State, StateLoader } from '../../engine/records.js'
import { damagedError } from '../errors.js'
import { encodeState, StateDecoder } from '../state-codec.js'
import { notWritten } from './errors.js'
import type { PendingMessage } from './log-publisher.js'
import { type Judging, MessageJudge } from './message-judge.js'
import { encodeSnapshotRecord, positionOf, type SnapshotRecord, snapshotName } from './snapshot-coordinator.js'
import type { SnapshotName, Stream } from './stream.js'

/** When a snapshot is worth it. */
export interface SnapshotSizes {
  /** Of messages since the last one, bytes, unless that was larger. Default 32 MiB. */
  readonly bytes: number
  /** Messages since the last one. Default 250,000. */
  readonly messages: number
}

/** What a writer of snapshots needs. */
export interface SnapshotHost {
  readonly capture: () => State
  push(parcel: PendingMessage): void
  troubled(error: unknown): void
}

const SIZES: SnapshotSizes = { bytes: 32 * 1024 * 1024, messages: 250_000 }

/** What a writer is at: a claim of its own is on its way into the log, or it writes. */
type WriterState =
  | { readonly state: 'idle' }
  | { readonly state: 'claiming' }
  | { readonly state: 'writing'; readonly subscription: Subscription }

/** Writes the state down when that is worth it and no other node does, and trims the stream behind the last two. */
export class SnapshotWriter {
  readonly #stream: Stream
  readonly #messageJudge: MessageJudge
  readonly #host: SnapshotHost
  readonly #sizes: SnapshotSizes
  #state: WriterState = { state: 'idle' }
  #trimming: Subscription | undefined

  constructor(stream: Stream, replica: MessageJudge, host: SnapshotHost, sizes: Partial<SnapshotSizes> = {}) {
    this.#stream = stream
    this.#messageJudge = replica
    this.#host = host
    this.#sizes = { ...SIZES, ...sizes }
  }

  /** To be called from time to time. */
  look(): void {
    const { snapshots, time } = this.#messageJudge
    const { bytes, messages } = snapshots.since
    const isWorth = bytes > Math.max(this.#sizes.bytes, snapshots.last?.size ?? 0) || messages > this.#sizes.messages
    if (!isWorth || this.#state.state !== 'idle' || !snapshots.isFree(time)) return
    this.#state = { state: 'claiming' }
    this.#host.push({ kind: 'claim', body: new Uint8Array(0) })
  }

  /** A claim of ours is in the log; all that came before it is applied. */
  claimed(granted: boolean, nodeId: string): void {
    if (this.#state.state === 'writing') return
    this.#state = { state: 'idle' }
    if (!granted) return
    const { position } = this.#messageJudge
    const name = snapshotName(position, nodeId)
    let size = 0
    const blocks = encodeSnapshot(this.#messageJudge.encode(), this.#host.capture())
    const counted = (function* () {
      for (const block of blocks) {
        size += block.length
        yield block
      }
    })()
    const subscription = this.#stream.putSnapshot(name, counted).subscribe({
      error: error => this.#ended(error),
      complete: () => {
        this.#ended()
        this.#host.push({ kind: 'written', body: bodyOf({ name, position, size }) })
      },
    })
    if (!subscription.closed) this.#state = { state: 'writing', subscription }
  }

  /** It is said in the log that a snapshot of ours is written. */
  written(): void {
    const position = this.#messageJudge.snapshots.before?.position ?? 0
    const old$ = position === 0 ? EMPTY : concat(this.#stream.trim(position), this.#stream.snapshots())
    this.#trimming?.unsubscribe()
    this.#trimming = concat(old$, this.#stream.sweep()).subscribe({
      next: names => {
        for (const { name } of names) if ((positionOf(name) ?? position) < position) this.#remove(name)
      },
      error: error => this.#host.troubled(error),
    })
  }

  /** The claim was given up with its life. */
  begin(): void {
    if (this.#state.state === 'claiming') this.#state = { state: 'idle' }
  }

  stop(): void {
    if (this.#state.state === 'writing') this.#state.subscription.unsubscribe()
    this.#trimming?.unsubscribe()
  }

  #remove(name: string): void {
    this.#trimming?.add(this.#stream.removeSnapshot(name).subscribe({ error: error => this.#host.troubled(error) }))
  }

  #ended(error?: unknown): void {
    this.#state = { state: 'idle' }
    if (error !== undefined) this.#host.troubled(notWritten(error))
  }
}

function bodyOf(snapshot: SnapshotRecord): Uint8Array {
  const writer = new ByteWriter()
  encodeSnapshotRecord(writer, snapshot)
  return writer.done()
}

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
  constructor(shared: (bytes: Uint8Array) => void, taker: StateLoader) {
    this.#shared = shared
    this.#state = new StateDecoder(taker)
  }

  /** Number of keys so far. */
  get keys(): number {
    return this.#state.keyCount
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
    if (!this.#state.isComplete || this.#length > 0) throw damagedError('the snapshot ends too early, or too late')
  }

  /** Takes the next block; returns how long it is, or 0 when it is not there as a whole. */
  #next(at: number): number {
    const left = this.#rest.length - at
    const view = new DataView(this.#rest.buffer, this.#rest.byteOffset + at, left)
    this.#needed = this.#at === 'head' ? HEAD : BLOCK_HEAD
    if (left < this.#needed) return 0
    if (this.#at === 'head') return this.#begin(view)
    const length = view.getUint32(0)
    if (length > LONGEST_BLOCK) throw damagedError('the snapshot has a block that is too long')
    this.#needed += length
    if (left < this.#needed) return 0
    this.#block(this.#rest.subarray(at + BLOCK_HEAD, at + this.#needed), view.getUint32(4))
    return this.#needed
  }

  #begin(view: DataView): number {
    if (view.getUint32(0) !== MAGIC) throw damagedError('it is no snapshot of a store')
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
    if (sum !== this.#sum) throw damagedError('the checksum of the snapshot is wrong')
    if (this.#at === 'shared') this.#shared(block)
    else this.#state.addBlock(block)
    this.#at = 'state'
  }
}

/** What a node begins with. */
export interface Loaded<E> {
  readonly replica: MessageJudge
  readonly engine: E
  /** Where the stream ends. */
  readonly end: number
}

/** An engine that takes a state back, and has what nodes share beside it. */
export type MakeEngine<E> = (replica: MessageJudge) => E & { readonly stateLoader: StateLoader }

/**
 * The newest snapshot that is good, and nothing where the stream has all from its beginning. Fails with `damaged` or `format`
 * when none is good and the stream has been trimmed, or when the stream is not the one of the snapshot.
 */
export function loadNewest<E>(
  stream: Stream,
  judging: Judging,
  make: MakeEngine<E>,
  progress: () => void,
): Observable<Loaded<E>> {
  const empty = (): { replica: MessageJudge; engine: ReturnType<MakeEngine<E>> } => {
    const replica = new MessageJudge(judging)
    return { replica, engine: make(replica) }
  }
  return stream.snapshots().pipe(
    mergeMap(names => {
      let failure: unknown
      const tries = newestFirst(names).map(name =>
        load(stream, name, empty, progress).pipe(
          catchError(error => {
            failure ??= error
            return EMPTY
          }),
        ),
      )
      const nothing = defer(() => of(empty()))
      return concat(...tries, nothing).pipe(
        take(1),
        mergeMap(loaded => checkBounds(stream, loaded, failure)),
      )
    }),
  )
}

const newestFirst = (names: readonly SnapshotName[]): string[] =>
  names
    .map(({ name }) => name)
    .filter(name => positionOf(name) !== undefined)
    .sort()
    .reverse()

function load<E>(
  stream: Stream,
  name: string,
  empty: () => { readonly replica: MessageJudge; readonly engine: ReturnType<MakeEngine<E>> },
  progress: () => void,
): Observable<Omit<Loaded<E>, 'end'>> {
  return defer(() => {
    const { replica, engine } = empty()
    const reader = new SnapshotReader(bytes => replica.decode(bytes), engine.stateLoader)
    return stream.getSnapshot(name).pipe(
      tap(bytes => {
        reader.take(bytes)
        progress()
      }),
      last(undefined, undefined),
      map(() => {
        reader.end()
        return { replica, engine }
      }),
    )
  })
}

function checkBounds<E>(stream: Stream, loaded: Omit<Loaded<E>, 'end'>, failure: unknown): Observable<Loaded<E>> {
  const { position } = loaded.replica
  return stream.bounds().pipe(
    take(1),
    map(({ first, last: end }) => {
      if (position > end)
        throw damagedError(
          `the stream ends at position ${end}, and a snapshot is of position ${position}: the stream has lost what it had ` +
            'acknowledged, or is another one',
          { cause: failure },
        )
      if (position + 1 >= first || (end === 0 && position === 0)) return { ...loaded, end }
      if (failure !== undefined) throw failure
      throw damagedError(
        `the stream begins at position ${first}, and no snapshot is of position ${first - 1} or later: what came before ` +
          'is not there any more',
      )
    }),
  )
}
