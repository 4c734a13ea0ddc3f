import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { concatBytes } from '../../../core/util/bytes.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import type { TurnScheduler } from '../../../node/limits/turn-scheduler.js'

/** The bytes per slice, which may contain up to a thousand WebSocket frames. */
const MAX_PIECE_BYTES = 4_096
const EMPTY = new Uint8Array(0)

/**
 * A socket that delivers received bytes in slices, because the WebSocket parser does not yield and a chunk may contain
 * a frame every six bytes.
 */
export class ThrottledSocket extends Duplex {
  readonly #socket: Socket
  readonly #scheduler: TurnScheduler
  #chunk: Uint8Array = EMPTY
  #offset = 0
  #isReadRequested = false
  #isScheduled = false
  #hasEnded = false

  constructor(socket: Socket, scheduler: TurnScheduler) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#scheduler = scheduler
    socket.on('data', (chunk: Uint8Array) => this.#onData(chunk))
    socket.on('end', () => {
      this.#hasEnded = true
      this.#scheduleSlice()
    })
    socket.on('error', error => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  override _read(): void {
    this.#isReadRequested = true
    this.#scheduleSlice()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done)
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: (error?: Error | null) => void): void {
    const last = chunks.pop()
    this.#socket.cork()
    for (const { chunk } of chunks) this.#socket.write(chunk)
    if (last) this.#socket.write(last.chunk, done)
    this.#socket.uncork()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#chunk = EMPTY
    this.#socket.destroy()
    done(error)
  }

  #onData(chunk: Uint8Array): void {
    // A chunk can still arrive after `pause`.
    this.#chunk = this.#offset < this.#chunk.length ? concatBytes([this.#chunk.subarray(this.#offset), chunk]) : chunk
    this.#offset = 0
    this.#socket.pause()
    this.#scheduleSlice()
  }

  #scheduleSlice(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#scheduler.run(this.#slice)
  }

  readonly #slice = (): boolean => {
    try {
      return this.#deliverPiece()
    } catch (error) {
      // Without its slice, the socket would never read again. The scheduler reports the error.
      this.destroy()
      throw error
    }
  }

  #deliverPiece(): boolean {
    if (this.#isReadRequested && this.#offset < this.#chunk.length) {
      const piece = this.#chunk.subarray(this.#offset, this.#offset + MAX_PIECE_BYTES)
      this.#offset += piece.length
      // `push` may call `_read` synchronously.
      this.#isReadRequested = false
      if (this.push(piece)) this.#isReadRequested = true
    }
    if (this.#offset < this.#chunk.length) {
      this.#isScheduled = this.#isReadRequested
      return this.#isReadRequested
    }
    this.#isScheduled = false
    if (this.#hasEnded) this.push(null)
    else this.#socket.resume()
    return false
  }
}

/** The size in bytes of the header of a ping or pong, including its mask (RFC 6455, section 5.2). */
const CONTROL_HEADER_BYTES = 6

/** Charges incomplete and unread WebSocket frames to the memory budget. */
export class WebSocketBufferMeter {
  readonly #budget: MemoryBudget
  #incompleteBytes = 0
  #unreadBytes = 0
  #isCleared = false

  constructor(socket: Socket, budget: MemoryBudget) {
    this.#budget = budget
    // This listener must run before the listener of the WebSocket parser.
    socket.prependListener('data', (chunk: Uint8Array) => this.#onData(chunk.length))
    // Complete frames may still be read after `close`.
    socket.once('close', () => this.#onClose())
  }

  get heldBytes(): number {
    return this.#incompleteBytes + this.#unreadBytes
  }

  /**
   * Counts a complete frame. The bytes after the frame in the same chunk are few, and are counted with the next chunk.
   */
  onFrame(bytes: number): void {
    if (this.#isCleared) return
    this.#budget.adjust(bytes - this.#incompleteBytes)
    this.#incompleteBytes = 0
    this.#unreadBytes += bytes
  }

  onRead(bytes: number): void {
    if (this.#isCleared) return
    this.#budget.release(bytes)
    this.#unreadBytes -= bytes
  }

  /** Counts a control frame, which may arrive within a fragmented message and is not buffered. */
  onControlFrame(bytes: number): void {
    const size = Math.min(this.#incompleteBytes, bytes + CONTROL_HEADER_BYTES)
    this.#budget.release(size)
    this.#incompleteBytes -= size
  }

  clear(): void {
    this.#isCleared = true
    this.#budget.release(this.heldBytes)
    this.#incompleteBytes = this.#unreadBytes = 0
  }

  #onClose(): void {
    this.#budget.release(this.#incompleteBytes)
    this.#incompleteBytes = 0
  }

  #onData(bytes: number): void {
    if (this.#isCleared) return
    this.#incompleteBytes += bytes
    this.#budget.adjust(bytes)
  }
}
