import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { concatBytes } from '../../../core/util/bytes.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { FairScheduler } from './fair-scheduler.js'

/** What is handed on at a time, bytes: as WebSocket frames it may be a thousand pieces. */
const MAX_PIECE_BYTES = 4_096
const EMPTY = new Uint8Array(0)

/**
 * A socket whose bytes come in its turn: what takes a WebSocket apart does not stop before it has gone through all that it
 * is given, and a piece of it may have a frame every six bytes.
 */
export class ThrottledSocket extends Duplex {
  readonly #socket: Socket
  readonly #scheduler: FairScheduler
  /** What came, as far as it is not handed on. */
  #chunk: Uint8Array = EMPTY
  #offset = 0
  #isReadRequested = false
  #isScheduled = false
  #hasEnded = false

  constructor(socket: Socket, scheduler: FairScheduler) {
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
    // More may come after it was paused.
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
    if (this.#isReadRequested && this.#offset < this.#chunk.length) {
      const piece = this.#chunk.subarray(this.#offset, this.#offset + MAX_PIECE_BYTES)
      this.#offset += piece.length
      // It may ask for more while it is given this.
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

/** Of a ping or pong, with its mask (RFC 6455, section 5.2), bytes. */
const CONTROL_HEADER_BYTES = 6

/** Counts what a WebSocket holds before it is a whole frame to the memory that all clients share. */
export class WebSocketBufferMeter {
  readonly #budget: BrokerMemoryBudget
  /** Came over the socket, and is not part of a whole frame yet, bytes. */
  #incompleteBytes = 0
  /** Of whole frames that are not read yet, bytes. */
  #unreadBytes = 0
  #isCleared = false

  constructor(socket: Socket, budget: BrokerMemoryBudget) {
    this.#budget = budget
    // Before the listener that takes frames out of it.
    socket.prependListener('data', (chunk: Uint8Array) => this.#onData(chunk.length))
    // Whole frames may still be read then.
    socket.once('close', () => this.#onClose())
  }

  /** What is counted, bytes. */
  get heldBytes(): number {
    return this.#incompleteBytes + this.#unreadBytes
  }

  /** A frame is complete, and waits to be read. What came behind it is not counted until more comes: it is little. */
  onFrame(bytes: number): void {
    if (this.#isCleared) return
    this.#budget.adjust(bytes - this.#incompleteBytes)
    this.#incompleteBytes = 0
    this.#unreadBytes += bytes
  }

  /** Bytes of whole frames were read. */
  onRead(bytes: number): void {
    if (this.#isCleared) return
    this.#budget.release(bytes)
    this.#unreadBytes -= bytes
  }

  /** A ping or a pong came, maybe amid a frame: nothing of it is kept. */
  onControlFrame(bytes: number): void {
    const size = Math.min(this.#incompleteBytes, bytes + CONTROL_HEADER_BYTES)
    this.#budget.release(size)
    this.#incompleteBytes -= size
  }

  /** Nothing counts any more: the connection is gone, or about to be. */
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
