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
import { logChannel } from '../../../core/diagnostics/server-channels.js'
import { ByteWriter } from '../../../core/util/byte-codec.js'
import { concatBytes } from '../../../core/util/bytes.js'
import { StateStoreError } from '../../../core/util/errors.js'
import type { State, StateLoader } from '../../engine/records.js'
import { damagedError } from '../errors.js'
import { encodeState, StateDecoder } from '../state-codec.js'
import { snapshotFailedError } from './errors.js'
import type { PendingMessage } from './log-publisher.js'
import { type JudgeOptions, MessageJudge } from './message-judge.js'
import {
  encodeSnapshotRecord,
  parseSnapshotPosition,
  type SnapshotRecord,
  snapshotName,
} from './snapshot-coordinator.js'
import type { SnapshotName, Stream } from './stream.js'

export interface SnapshotSizes {
  /**
   * The size in bytes of the messages since the latest snapshot at which a snapshot is due. The size of the latest
   * snapshot is a lower limit. Default: 32 MiB.
   */
  readonly bytes: number
  /** The number of messages since the latest snapshot at which a snapshot is due. Default: 250,000. */
  readonly messages: number
}

export interface SnapshotHost {
  readonly capture: () => State
  send(message: PendingMessage): void
  onError(error: unknown): void
}

const DEFAULT_SIZES: SnapshotSizes = { bytes: 32 * 1024 * 1024, messages: 250_000 }

type WriterState =
  | { readonly state: 'idle' }
  | { readonly state: 'claiming' }
  | { readonly state: 'writing'; readonly subscription: Subscription }

/** Writes a snapshot when one is due and no other node is writing it. Trims the stream up to the previous snapshot. */
export class SnapshotWriter {
  readonly #stream: Stream
  readonly #judge: MessageJudge
  readonly #host: SnapshotHost
  readonly #sizes: SnapshotSizes
  #state: WriterState = { state: 'idle' }
  #cleanup: Subscription | undefined

  constructor(stream: Stream, judge: MessageJudge, host: SnapshotHost, sizes: Partial<SnapshotSizes> = {}) {
    this.#stream = stream
    this.#judge = judge
    this.#host = host
    this.#sizes = { ...DEFAULT_SIZES, ...sizes }
  }

  /** Claims the next snapshot if one is due. Called periodically. */
  claimIfDue(): void {
    const { snapshots, time } = this.#judge
    const { bytes, messages } = snapshots.sinceLatest
    const isDue = bytes > Math.max(this.#sizes.bytes, snapshots.latest?.size ?? 0) || messages > this.#sizes.messages
    if (!isDue || this.#state.state !== 'idle' || !snapshots.canClaim(time)) return
    this.#state = { state: 'claiming' }
    this.#host.send({ kind: 'claim', body: new Uint8Array(0) })
  }

  /** Writes the snapshot if this node's claim was granted. Everything before the claim is already applied. */
  onClaimed(granted: boolean, nodeId: string): void {
    if (this.#state.state === 'writing') return
    this.#state = { state: 'idle' }
    if (!granted) return
    const { position } = this.#judge
    const name = snapshotName(position, nodeId)
    let size = 0
    const blocks = encodeSnapshot(this.#judge.encode(), this.#host.capture())
    const countedBlocks = (function* () {
      for (const block of blocks) {
        size += block.length
        yield block
      }
    })()
    const subscription = this.#stream.putSnapshot(name, countedBlocks).subscribe({
      error: error => this.#finish(error),
      complete: () => {
        this.#finish()
        this.#host.send({ kind: 'written', body: encodeBody({ name, position, size }) })
      },
    })
    if (!subscription.closed) this.#state = { state: 'writing', subscription }
  }

  /** Trims the stream and removes old snapshots after a snapshot of this node was recorded in the log. */
  onWritten(): void {
    const position = this.#judge.snapshots.previous?.position ?? 0
    const old$ = position === 0 ? EMPTY : concat(this.#stream.trim(position), this.#stream.snapshots())
    this.#cleanup?.unsubscribe()
    this.#cleanup = concat(old$, this.#stream.removeOrphans()).subscribe({
      next: names => {
        for (const { name } of names) if ((parseSnapshotPosition(name) ?? position) < position) this.#remove(name)
      },
      error: error => this.#host.onError(error),
    })
  }

  /** Drops a claim that was abandoned with its epoch. */
  onNewEpoch(): void {
    if (this.#state.state === 'claiming') this.#state = { state: 'idle' }
  }

  stop(): void {
    if (this.#state.state === 'writing') this.#state.subscription.unsubscribe()
    this.#cleanup?.unsubscribe()
  }

  #remove(name: string): void {
    this.#cleanup?.add(this.#stream.removeSnapshot(name).subscribe({ error: error => this.#host.onError(error) }))
  }

  #finish(error?: unknown): void {
    this.#state = { state: 'idle' }
    if (error === undefined) return
    if (logChannel.hasSubscribers) logChannel.publish({ type: 'snapshot-failed', error })
    this.#host.onError(snapshotFailedError(error))
  }
}

function encodeBody(snapshot: SnapshotRecord): Uint8Array {
  const writer = new ByteWriter()
  encodeSnapshotRecord(writer, snapshot)
  return writer.done()
}

const MAGIC = 0x72787370
/** The format version of a snapshot, raised with each change that older releases cannot read. */
const FORMAT = 1
const HEAD_BYTES = 8
/** The size of a block's header, which holds the block's length and a running checksum of all blocks. */
const BLOCK_HEADER_BYTES = 8
/** The maximum size of a block, which holds at least one record. A record is not larger than an entry. */
const MAX_BLOCK_BYTES = 256 * 1024 * 1024

/**
 * Encodes a snapshot in blocks, first the state that nodes share, then the engine's state. Each checksum covers
 * all blocks so far, so a missing block is detected.
 */
export function* encodeSnapshot(shared: Uint8Array, state: State): Generator<Uint8Array, void> {
  const head = new Uint8Array(HEAD_BYTES)
  const view = new DataView(head.buffer)
  view.setUint32(0, MAGIC)
  view.setUint32(4, FORMAT)
  yield head
  const first = new Uint8Array(BLOCK_HEADER_BYTES + shared.length)
  first.set(shared, BLOCK_HEADER_BYTES)
  let sum = sealBlock(first, 0)
  yield first
  for (const block of encodeState(state, BLOCK_HEADER_BYTES)) {
    sum = sealBlock(block, sum)
    yield block
  }
}

function sealBlock(block: Uint8Array, previousSum: number): number {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  const sum = crc32(block.subarray(BLOCK_HEADER_BYTES), previousSum)
  view.setUint32(0, block.length - BLOCK_HEADER_BYTES)
  view.setUint32(4, sum)
  return sum
}

/** Reads a snapshot from chunks of any size. Throws `damaged`, or `format` for another version. */
export class SnapshotReader {
  readonly #shared: (bytes: Uint8Array) => void
  readonly #state: StateDecoder
  #buffer: Uint8Array = new Uint8Array(0)
  /** The chunks that are not part of the next block yet. */
  #pending: Uint8Array[] = []
  #availableBytes = 0
  #neededBytes = HEAD_BYTES
  #sum = 0
  #section: 'head' | 'shared' | 'state' = 'head'

  /**
   * @param shared - receives the state that nodes share
   * @param loader - receives the engine's state; callers must discard both states after `damaged`
   */
  constructor(shared: (bytes: Uint8Array) => void, loader: StateLoader) {
    this.#shared = shared
    this.#state = new StateDecoder(loader)
  }

  get keyCount(): number {
    return this.#state.keyCount
  }

  push(bytes: Uint8Array): void {
    this.#pending.push(bytes)
    this.#availableBytes += bytes.length
    if (this.#availableBytes < this.#neededBytes) return
    this.#buffer = concatBytes([this.#buffer, ...this.#pending])
    this.#pending = []
    let offset = 0
    for (let used = this.#readNext(offset); used > 0; used = this.#readNext(offset)) offset += used
    this.#buffer = this.#buffer.subarray(offset)
    this.#availableBytes = this.#buffer.length
  }

  /** Throws `damaged` if the snapshot is incomplete. */
  finish(): void {
    if (!this.#state.isComplete || this.#availableBytes > 0)
      throw damagedError('the snapshot is truncated or has extra bytes')
  }

  /** Reads the next block. Returns the block's size, or 0 if it is incomplete. */
  #readNext(offset: number): number {
    const remaining = this.#buffer.length - offset
    const view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset + offset, remaining)
    this.#neededBytes = this.#section === 'head' ? HEAD_BYTES : BLOCK_HEADER_BYTES
    if (remaining < this.#neededBytes) return 0
    if (this.#section === 'head') return this.#readHead(view)
    const length = view.getUint32(0)
    if (length > MAX_BLOCK_BYTES) throw damagedError('the snapshot has a block that is too long')
    this.#neededBytes += length
    if (remaining < this.#neededBytes) return 0
    this.#takeBlock(this.#buffer.subarray(offset + BLOCK_HEADER_BYTES, offset + this.#neededBytes), view.getUint32(4))
    return this.#neededBytes
  }

  #readHead(view: DataView): number {
    if (view.getUint32(0) !== MAGIC) throw damagedError('the object is not a snapshot of a store')
    const format = view.getUint32(4)
    if (format !== FORMAT)
      throw new StateStoreError('format', `the snapshot has format ${format}, but this version supports only ${FORMAT}`)
    this.#section = 'shared'
    return HEAD_BYTES
  }

  #takeBlock(block: Uint8Array, sum: number): void {
    this.#sum = crc32(block, this.#sum)
    if (sum !== this.#sum) throw damagedError('the checksum of the snapshot is wrong')
    if (this.#section === 'shared') this.#shared(block)
    else this.#state.addBlock(block)
    this.#section = 'state'
  }
}

export interface LoadedNode<E> {
  readonly judge: MessageJudge
  readonly engine: E
  readonly streamEnd: number
}

/** Creates an engine that can load a state, in addition to the shared state. */
export type CreateEngine<E> = (judge: MessageJudge) => E & { readonly stateLoader: StateLoader }

/**
 * Loads the newest intact snapshot, or an empty state if the stream still has all its messages. Fails with `damaged` or
 * `format` if no snapshot is intact and the stream was trimmed, or if the stream and the snapshot do not belong
 * together.
 */
export function loadLatest<E>(
  stream: Stream,
  judgeOptions: JudgeOptions,
  createEngine: CreateEngine<E>,
  progress: () => void,
): Observable<LoadedNode<E>> {
  const createEmpty = (): { judge: MessageJudge; engine: ReturnType<CreateEngine<E>> } => {
    const judge = new MessageJudge(judgeOptions)
    return { judge, engine: createEngine(judge) }
  }
  return stream.snapshots().pipe(
    mergeMap(names => {
      let failure: unknown
      const tries = newestFirst(names).map(name =>
        loadSnapshot(stream, name, createEmpty, progress).pipe(
          catchError(error => {
            failure ??= error
            return EMPTY
          }),
        ),
      )
      const empty$ = defer(() => of(createEmpty()))
      return concat(...tries, empty$).pipe(
        take(1),
        mergeMap(loaded => checkBounds(stream, loaded, failure)),
      )
    }),
  )
}

const newestFirst = (names: readonly SnapshotName[]): string[] =>
  names
    .map(({ name }) => name)
    .filter(name => parseSnapshotPosition(name) !== undefined)
    .sort()
    .reverse()

function loadSnapshot<E>(
  stream: Stream,
  name: string,
  createEmpty: () => { readonly judge: MessageJudge; readonly engine: ReturnType<CreateEngine<E>> },
  progress: () => void,
): Observable<Omit<LoadedNode<E>, 'streamEnd'>> {
  return defer(() => {
    const { judge, engine } = createEmpty()
    const reader = new SnapshotReader(bytes => judge.decode(bytes), engine.stateLoader)
    return stream.getSnapshot(name).pipe(
      tap(bytes => {
        reader.push(bytes)
        progress()
      }),
      last(undefined, undefined),
      map(() => {
        reader.finish()
        return { judge, engine }
      }),
    )
  })
}

function checkBounds<E>(
  stream: Stream,
  loaded: Omit<LoadedNode<E>, 'streamEnd'>,
  failure: unknown,
): Observable<LoadedNode<E>> {
  const { position } = loaded.judge
  return stream.bounds().pipe(
    take(1),
    map(({ first, last: streamEnd }) => {
      if (position > streamEnd)
        throw damagedError(
          `the stream ends at position ${streamEnd}, but a snapshot has position ${position}: the stream lost acknowledged ` +
            'messages or was replaced',
          { cause: failure },
        )
      if (position + 1 >= first || (streamEnd === 0 && position === 0)) return { ...loaded, streamEnd }
      if (failure !== undefined) throw failure
      throw damagedError(
        `the stream begins at position ${first}, but no snapshot has position ${first - 1} or later: the earlier messages ` +
          'are lost',
      )
    }),
  )
}
