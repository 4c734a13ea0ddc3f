import type { Socket } from 'node:net'
import type { Budget } from './budget.js'

/** A frame that is not complete may be as large as this when memory is short, bytes. */
const WORTH_REFUSING = 64 * 1024
/** Of a ping or pong, with its mask (RFC 6455, section 5.2), bytes. */
const CONTROL_HEADER = 6

/** Counts what a WebSocket holds before it is a whole frame to the memory that all clients share. */
export class FrameMeter {
  readonly #budget: Budget
  readonly #end: () => void
  /** Came over the socket, and is not part of a whole frame yet, bytes. */
  #pending = 0
  /** Of whole frames that are not read yet, bytes. */
  #waiting = 0

  /** @param end - ends the connection: there is no room for a frame of its size */
  constructor(socket: Socket, budget: Budget, end: () => void) {
    this.#budget = budget
    this.#end = end
    // Before the listener that takes frames out of it.
    socket.prependListener('data', (chunk: Uint8Array) => this.#came(chunk.length))
    socket.once('close', () => this.#clear())
  }

  /** A frame is complete, and waits to be read. What came behind it is not counted until more comes: it is little. */
  frame(bytes: number): void {
    this.#budget.count(bytes - this.#pending)
    this.#pending = 0
    this.#waiting += bytes
  }

  /** Bytes of whole frames were read. */
  read(bytes: number): void {
    this.#budget.give(bytes)
    this.#waiting -= bytes
  }

  /** A ping or a pong came, maybe amid a frame: nothing of it is kept. */
  control(bytes: number): void {
    const size = Math.min(this.#pending, bytes + CONTROL_HEADER)
    this.#budget.give(size)
    this.#pending -= size
  }

  #clear(): void {
    this.#budget.give(this.#pending + this.#waiting)
    this.#pending = this.#waiting = 0
  }

  #came(bytes: number): void {
    this.#pending += bytes
    this.#budget.count(bytes)
    if (this.#budget.exceeded && this.#pending > WORTH_REFUSING) this.#end()
  }
}
