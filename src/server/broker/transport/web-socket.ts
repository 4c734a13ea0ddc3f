import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { concatBytes } from '../../../core/util/bytes.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { FairScheduler } from './fair-scheduler.js'

/** What is handed on at a time, bytes: as WebSocket frames it may be a thousand pieces. */
const PIECE = 4_096
const NOTHING = new Uint8Array(0)

/**
 * A socket whose bytes come in its turn: what takes a WebSocket apart does not stop before it has gone through all that it
 * is given, and a piece of it may have a frame every six bytes.
 */
export class ThrottledSocket extends Duplex {
  readonly #socket: Socket
  readonly #fairScheduler: FairScheduler
  /** What came, as far as it is not handed on. */
  #chunk: Uint8Array = NOTHING
  #at = 0
  #hungry = false
  #working = false
  #ended = false

  constructor(socket: Socket, turns: FairScheduler) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#fairScheduler = turns
    socket.on('data', (chunk: Uint8Array) => this.#came(chunk))
    socket.on('end', () => {
      this.#ended = true
      this.#work()
    })
    socket.on('error', error => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  override _read(): void {
    this.#hungry = true
    this.#work()
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
    this.#chunk = NOTHING
    this.#socket.destroy()
    done(error)
  }

  #came(chunk: Uint8Array): void {
    // More may come after it was paused.
    this.#chunk = this.#at < this.#chunk.length ? concatBytes([this.#chunk.subarray(this.#at), chunk]) : chunk
    this.#at = 0
    this.#socket.pause()
    this.#work()
  }

  #work(): void {
    if (this.#working) return
    this.#working = true
    this.#fairScheduler.begin(this.#slice)
  }

  readonly #slice = (): boolean => {
    if (this.#hungry && this.#at < this.#chunk.length) {
      const piece = this.#chunk.subarray(this.#at, this.#at + PIECE)
      this.#at += piece.length
      // It may ask for more while it is given this.
      this.#hungry = false
      if (this.push(piece)) this.#hungry = true
    }
    if (this.#at < this.#chunk.length) {
      this.#working = this.#hungry
      return this.#hungry
    }
    this.#working = false
    if (this.#ended) this.push(null)
    else this.#socket.resume()
    return false
  }
}

/** Of a ping or pong, with its mask (RFC 6455, section 5.2), bytes. */
const CONTROL_HEADER = 6

/** Counts what a WebSocket holds before it is a whole frame to the memory that all clients share. */
export class WebSocketBufferMeter {
  readonly #brokerMemoryBudget: BrokerMemoryBudget
  /** Came over the socket, and is not part of a whole frame yet, bytes. */
  #pending = 0
  /** Of whole frames that are not read yet, bytes. */
  #waiting = 0
  #over = false

  constructor(socket: Socket, budget: BrokerMemoryBudget) {
    this.#brokerMemoryBudget = budget
    // Before the listener that takes frames out of it.
    socket.prependListener('data', (chunk: Uint8Array) => this.#came(chunk.length))
    // Whole frames may still be read then.
    socket.once('close', () => this.#lost())
  }

  /** What is counted, bytes. */
  get held(): number {
    return this.#pending + this.#waiting
  }

  /** A frame is complete, and waits to be read. What came behind it is not counted until more comes: it is little. */
  frame(bytes: number): void {
    if (this.#over) return
    this.#brokerMemoryBudget.count(bytes - this.#pending)
    this.#pending = 0
    this.#waiting += bytes
  }

  /** Bytes of whole frames were read. */
  read(bytes: number): void {
    if (this.#over) return
    this.#brokerMemoryBudget.give(bytes)
    this.#waiting -= bytes
  }

  /** A ping or a pong came, maybe amid a frame: nothing of it is kept. */
  control(bytes: number): void {
    const size = Math.min(this.#pending, bytes + CONTROL_HEADER)
    this.#brokerMemoryBudget.give(size)
    this.#pending -= size
  }

  /** Nothing counts any more: the connection is gone, or about to be. */
  clear(): void {
    this.#over = true
    this.#brokerMemoryBudget.give(this.held)
    this.#pending = this.#waiting = 0
  }

  #lost(): void {
    this.#brokerMemoryBudget.give(this.#pending)
    this.#pending = 0
  }

  #came(bytes: number): void {
    if (this.#over) return
    this.#pending += bytes
    this.#brokerMemoryBudget.count(bytes)
  }
}
