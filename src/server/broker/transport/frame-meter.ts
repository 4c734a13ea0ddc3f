import type { Socket } from 'node:net'
import type { Budget } from '../limits/budget.js'

/** Of a ping or pong, with its mask (RFC 6455, section 5.2), bytes. */
const CONTROL_HEADER = 6

/** Counts what a WebSocket holds before it is a whole frame to the memory that all clients share. */
export class FrameMeter {
  readonly #budget: Budget
  /** Came over the socket, and is not part of a whole frame yet, bytes. */
  #pending = 0
  /** Of whole frames that are not read yet, bytes. */
  #waiting = 0
  #over = false

  constructor(socket: Socket, budget: Budget) {
    this.#budget = budget
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
    this.#budget.count(bytes - this.#pending)
    this.#pending = 0
    this.#waiting += bytes
  }

  /** Bytes of whole frames were read. */
  read(bytes: number): void {
    if (this.#over) return
    this.#budget.give(bytes)
    this.#waiting -= bytes
  }

  /** A ping or a pong came, maybe amid a frame: nothing of it is kept. */
  control(bytes: number): void {
    const size = Math.min(this.#pending, bytes + CONTROL_HEADER)
    this.#budget.give(size)
    this.#pending -= size
  }

  /** Nothing counts any more: the connection is gone, or about to be. */
  clear(): void {
    this.#over = true
    this.#budget.give(this.held)
    this.#pending = this.#waiting = 0
  }

  #lost(): void {
    this.#budget.give(this.#pending)
    this.#pending = 0
  }

  #came(bytes: number): void {
    if (this.#over) return
    this.#pending += bytes
    this.#budget.count(bytes)
  }
}
