import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Room } from '../../../core/mqtt5/publish-encoder.js'
import { afterIo } from '../../../core/util/clock.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'

/** What is gathered in one block, and the largest piece that is worth a copy, bytes. */
const MIN_BLOCK_BYTES = 512
const MAX_BLOCK_BYTES = 65_536
const MAX_COPIED_BYTES = 16_384
/** With more unsent bytes a connection is {@link SendBuffer.isFull}. */
const HIGH_WATER_MARK_BYTES = 65_536

const EMPTY = Buffer.alloc(0)

/**
 * When what is gathered leaves: not before something is, when what the event loop has read is worked off, or on `release`,
 * unless it lingers.
 */
type FlushState = 'none' | 'due' | 'held' | 'lingering'

/**
 * What leaves over a connection: what is written in one turn of the event loop leaves as one piece, one system call over
 * TCP, one frame over WebSocket; and while the network does not take it, it waits here. An idle connection has no memory
 * for it.
 */
export class SendBuffer implements Room {
  readonly #stream: Duplex
  readonly #socket: Socket
  readonly #budget: BrokerMemoryBudget
  readonly #onDrained: () => void
  /** Full blocks and large pieces, before what is in the block. */
  #pieces: Uint8Array[] = []
  #block = EMPTY
  #from = 0
  #to = 0
  #blockBytes = MIN_BLOCK_BYTES
  #queuedBytes = 0
  /** What the stream has and has not got rid of, bytes. */
  #writingBytes = 0
  #flushState: FlushState = 'none'
  /** Whether the stream has something to write; `watched`: so much that it has to take some of it in time. */
  #writing: 'no' | 'yes' | 'watched' = 'no'
  #isEnding = false

  /**
   * @param socket - below the stream, or the stream itself
   * @param onDrained - called when the network has taken what it was given
   */
  constructor(stream: Duplex, socket: Socket, budget: BrokerMemoryBudget, onDrained: () => void) {
    this.#stream = stream
    this.#socket = socket
    this.#budget = budget
    this.#onDrained = onDrained
    socket.on('timeout', () => this.#onStall())
    stream.on('close', () => this.drop())
  }

  /** What the network has not taken yet, bytes. */
  get unsentBytes(): number {
    return this.#queuedBytes + this.#writingBytes
  }

  /** Whether senders that can wait should. */
  get isFull(): boolean {
    return this.unsentBytes > HIGH_WATER_MARK_BYTES
  }

  get block(): Uint8Array {
    return this.#block
  }

  /** Memory for a piece that is to leave; it is to be filled at once. */
  take(bytes: number): number {
    this.#enqueue(bytes)
    if (this.#to + bytes > this.#block.length) this.#newBlock(bytes)
    const at = this.#to
    this.#to += bytes
    return at
  }

  /** Writes a piece; a large one is not copied, and is not to be changed any more. */
  write(piece: Uint8Array): void {
    if (piece.length <= MAX_COPIED_BYTES) {
      const at = this.take(piece.length)
      this.#block.set(piece, at)
      return
    }
    this.#enqueue(piece.length)
    this.#closeBlock()
    this.#pieces.push(piece)
  }

  /** Whether a piece is so large that {@link write} does not copy it. */
  isLarge(piece: Uint8Array): boolean {
    return piece.length > MAX_COPIED_BYTES
  }

  /** Sends nothing until {@link release}, which has to follow in the same turn. */
  hold(): void {
    this.#flushState = 'held'
  }

  /** Has the next {@link release} send nothing before all is worked off that the event loop has read. */
  delayFlush(): void {
    if (this.#flushState === 'held') this.#flushState = 'lingering'
  }

  /** Sends what is there, unless more is to come with it. */
  release(): void {
    if (this.#flushState !== 'lingering') {
      this.flush()
      return
    }
    this.#flushState = 'due'
    afterIo(this.#onTurnEnd)
  }

  /** Sends what is there, then ends the connection; what is written later is not sent. */
  end(): void {
    this.#isEnding = true
    this.flush()
  }

  /** Sends what is there, as soon as the network has taken what it has. */
  flush(): void {
    this.#flushState = 'none'
    if (this.#writing !== 'no') return
    if (this.#queuedBytes === 0) {
      if (this.#isEnding) this.#stream.end()
      return
    }
    this.#closeBlock()
    const pieces = this.#pieces
    this.#blockBytes = Math.min(
      MAX_BLOCK_BYTES,
      Math.max(MIN_BLOCK_BYTES, 2 ** Math.ceil(Math.log2(this.#queuedBytes))),
    )
    this.#pieces = []
    this.#block = EMPTY
    this.#from = this.#to = 0
    if (!this.#stream.writable) {
      this.#budget.release(this.#queuedBytes)
      this.#queuedBytes = 0
      return
    }
    this.#writingBytes = this.#queuedBytes
    this.#queuedBytes = 0
    this.#writing = 'yes'
    this.#send(pieces)
    this.#startStallTimer()
  }

  /** Forgets what is there: the connection is gone, or about to be. */
  drop(): void {
    this.#budget.release(this.unsentBytes)
    this.#queuedBytes = this.#writingBytes = 0
    this.#pieces = []
  }

  #send(pieces: Uint8Array[]): void {
    const last = pieces.pop()
    if (pieces.length > 0) this.#stream.cork()
    for (const piece of pieces) this.#stream.write(piece)
    this.#stream.write(last, this.#onWritten)
    if (pieces.length > 0) this.#stream.uncork()
  }

  readonly #onTurnEnd = (): void => this.flush()

  readonly #onWritten = (): void => {
    const wasWatched = this.#writing === 'watched'
    this.#writing = 'no'
    this.#budget.release(this.#writingBytes)
    this.#writingBytes = 0
    this.flush()
    if (wasWatched) this.#updateStallTimer()
    this.#onDrained()
  }

  #enqueue(bytes: number): void {
    this.#queuedBytes += bytes
    this.#budget.adjust(bytes)
    if (this.#writing !== 'no') this.#startStallTimer()
    else if (this.#flushState === 'none') {
      this.#flushState = 'due'
      runAtTurnEnd(this.#onTurnEnd)
    }
  }

  #newBlock(bytes: number): void {
    this.#closeBlock()
    this.#block = Buffer.allocUnsafe(Math.max(bytes, this.#blockBytes))
    this.#from = this.#to = 0
    this.#blockBytes = Math.min(MAX_BLOCK_BYTES, 2 * this.#blockBytes)
  }

  #closeBlock(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }

  #startStallTimer(): void {
    if (this.#writing === 'watched' || !this.isFull) return
    this.#writing = 'watched'
    this.#socket.setTimeout(LIMIT.stallTimeoutMs)
  }

  /** Goes on watching while there is something to write. */
  #updateStallTimer(): void {
    if (this.#writing === 'no') this.#socket.setTimeout(0)
    else this.#writing = 'watched'
  }

  /** The system tells of a socket that neither reads nor gets rid of a byte. */
  #onStall(): void {
    if (this.#writing !== 'watched') return
    // One that is held still on purpose is not to blame.
    if (this.#socket.writableCorked > 0) this.#socket.setTimeout(LIMIT.stallTimeoutMs)
    else this.#stream.destroy()
  }
}

let tasks: (() => void)[] = []

/**
 * Does a task when what the event loop has read is worked off, together with all others of this turn: to be called back for
 * each of a thousand connections would take as long as to write a packet to them. A task that throws keeps none from its turn.
 *
 * @example
 * ```ts
 * atTurnEnd(() => outflow.flush())
 * ```
 */
export function runAtTurnEnd(task: () => void): void {
  if (tasks.length === 0) afterIo(runAll)
  tasks.push(task)
}

function runAll(): void {
  const due = tasks
  tasks = []
  let completed = 0
  try {
    for (const task of due) {
      completed++
      task()
    }
  } finally {
    // After an error: the others go on when it is dealt with.
    for (const task of due.slice(completed)) runAtTurnEnd(task)
  }
}
