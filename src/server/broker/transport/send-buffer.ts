import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { WriteBuffer } from '../../../core/mqtt5/publish-encoder.js'
import { afterIo } from '../../../core/util/clock.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import type { TurnScheduler } from '../../../node/limits/turn-scheduler.js'
import { LIMIT } from '../limits/limits.js'
import type { Traffic } from '../limits/traffic.js'

/** The size up to which pieces are copied into blocks. Larger pieces are queued without a copy. */
const MIN_BLOCK_BYTES = 512
const MAX_BLOCK_BYTES = 65_536
const MAX_COPIED_BYTES = 16_384
const HIGH_WATER_MARK_BYTES = 65_536

const EMPTY = Buffer.alloc(0)

/**
 * The time at which data is flushed. `due`: after this event loop iteration. `held`: on `release`. `delayed`: after the
 * event loop iteration of `release`.
 */
type FlushState = 'none' | 'due' | 'held' | 'delayed'

export interface SendBufferHost {
  readonly budget: MemoryBudget
  readonly traffic: Traffic
  readonly scheduler: TurnScheduler
}

/**
 * Coalesces the writes of an event loop iteration into one system call or WebSocket frame. An idle connection holds no
 * memory for blocks.
 */
export class SendBuffer implements WriteBuffer {
  readonly #stream: Duplex
  readonly #socket: Socket
  readonly #budget: MemoryBudget
  readonly #traffic: Traffic
  readonly #scheduler: TurnScheduler
  readonly #onDrained: () => void
  /** The full blocks and large pieces, which precede the data in the current block. */
  #pieces: Uint8Array[] = []
  #block = EMPTY
  #from = 0
  #to = 0
  #blockBytes = MIN_BLOCK_BYTES
  #queuedBytes = 0
  /** The bytes passed to the stream that the network has not accepted yet. */
  #writingBytes = 0
  #flushState: FlushState = 'none'
  /** The state of writing. In `watched`, the stall timer runs because the buffer is full. */
  #writing: 'no' | 'yes' | 'watched' = 'no'
  #isEnding = false
  /** Whether much data waits for a turn in which it may be written. */
  #isDeferred = false

  /** @param onDrained - called when the network has accepted a write */
  constructor(stream: Duplex, socket: Socket, { budget, traffic, scheduler }: SendBufferHost, onDrained: () => void) {
    this.#stream = stream
    this.#socket = socket
    this.#budget = budget
    this.#traffic = traffic
    this.#scheduler = scheduler
    this.#onDrained = onDrained
    socket.on('timeout', () => this.#onStall())
    stream.on('close', () => this.drop())
  }

  get unsentBytes(): number {
    return this.#queuedBytes + this.#writingBytes
  }

  /** Returns whether senders should pause. */
  get isFull(): boolean {
    return this.unsentBytes > HIGH_WATER_MARK_BYTES
  }

  get block(): Uint8Array {
    return this.#block
  }

  allocate(bytes: number): number {
    this.#enqueue(bytes)
    if (this.#to + bytes > this.#block.length) this.#newBlock(bytes)
    const at = this.#to
    this.#to += bytes
    return at
  }

  write(piece: Uint8Array): void {
    if (piece.length <= MAX_COPIED_BYTES) {
      const at = this.allocate(piece.length)
      this.#block.set(piece, at)
      return
    }
    this.#enqueue(piece.length)
    this.#closeBlock()
    // Over WebSocket, each part is a message. A client sees no byte of a message before its end, and so cannot tell a
    // slow connection from a dead one.
    for (let at = 0; at < piece.length; at += MAX_BLOCK_BYTES)
      this.#pieces.push(piece.subarray(at, at + MAX_BLOCK_BYTES))
  }

  isLarge(piece: Uint8Array): boolean {
    return piece.length > MAX_COPIED_BYTES
  }

  /** Holds back all data until {@link release}, which must follow synchronously. */
  hold(): void {
    this.#flushState = 'held'
  }

  delayFlush(): void {
    if (this.#flushState === 'held') this.#flushState = 'delayed'
  }

  release(): void {
    if (this.#flushState !== 'delayed') {
      this.flush()
      return
    }
    this.#flushState = 'due'
    afterIo(this.#onTurnEnd)
  }

  /** Flushes queued data, then ends the stream. Later writes are discarded. */
  end(): void {
    this.#isEnding = true
    this.flush()
  }

  /** Sends queued data after the previous write has completed. */
  flush(): void {
    this.#flushState = 'none'
    if (this.#writing !== 'no' || this.#isDeferred) return
    if (this.#queuedBytes === 0) {
      if (this.#isEnding) this.#stream.end()
      return
    }
    if (this.#stream.writable && !this.#scheduler.tryReserveWrite(this.#queuedBytes, this.#onWriteTurn)) {
      this.#isDeferred = true
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
    this.#traffic.bytesSent += this.#queuedBytes
    this.#queuedBytes = 0
    this.#writing = 'yes'
    this.#send(pieces)
    this.#startStallTimer()
  }

  /** Discards all data, because the connection has closed or will close soon. */
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

  readonly #onWriteTurn = (): void => {
    this.#isDeferred = false
    this.flush()
  }

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
      this.#scheduler.atTurnEnd(this.#onTurnEnd)
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

  #updateStallTimer(): void {
    if (this.#writing === 'no') this.#socket.setTimeout(0)
    else this.#writing = 'watched'
  }

  /** Destroys a stalled connection. Node emits `timeout` if the socket has neither read nor written. */
  #onStall(): void {
    if (this.#writing !== 'watched') return
    // A frozen connection is not stalled.
    if (this.#socket.writableCorked > 0) this.#socket.setTimeout(LIMIT.stallTimeoutMs)
    else this.#stream.destroy()
  }
}
