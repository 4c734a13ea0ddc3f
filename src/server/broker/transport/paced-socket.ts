import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { concatBytes } from '../../../core/util/bytes.js'
import type { Turns } from './turns.js'

/** What is handed on at a time, bytes: as WebSocket frames it may be a thousand pieces. */
const PIECE = 4_096
const NOTHING = new Uint8Array(0)

/**
 * A socket whose bytes come in its turn: what takes a WebSocket apart does not stop before it has gone through all that it
 * is given, and a piece of it may have a frame every six bytes.
 */
export class PacedSocket extends Duplex {
  readonly #socket: Socket
  readonly #turns: Turns
  /** What came, as far as it is not handed on. */
  #chunk: Uint8Array = NOTHING
  #at = 0
  #hungry = false
  #working = false
  #ended = false

  constructor(socket: Socket, turns: Turns) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#turns = turns
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
    this.#turns.begin(this.#slice)
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
