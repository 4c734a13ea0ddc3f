import { Duplex } from 'node:stream'
import type { Outflow } from './outflow.js'
import type { Tap } from './tap.js'

/**
 * What aedes takes for the network connection: it reads what the fast path leaves to it, and what it writes goes the way
 * of everything else.
 */
export class Lane extends Duplex {
  readonly #stream: Duplex
  readonly #outflow: Outflow
  readonly #tap: Tap
  #awaitsDrain = false

  /** @param stream - the connection; it is destroyed with the lane */
  constructor(stream: Duplex, outflow: Outflow, tap: Tap) {
    super()
    this.#stream = stream
    this.#outflow = outflow
    this.#tap = tap
  }

  /** Hands bytes to aedes; while it has enough of them nothing is read. */
  feed(bytes: Uint8Array): void {
    if (!this.push(bytes)) this.#tap.close('lane')
  }

  /** To be called when the network has taken what it had. */
  taken(): void {
    if (!this.#awaitsDrain || this.#outflow.full) return
    this.#awaitsDrain = false
    this.emit('drain')
  }

  // Not by way of the stream's own buffer: aedes writes a packet in some twenty pieces, and what a stream does for each
  // of them was a third of a busy broker's time.
  override write(chunk: unknown): boolean {
    this.#outflow.write(chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk)))
    const { full } = this.#outflow
    this.#awaitsDrain ||= full
    return !full
  }

  override _read(): void {
    this.#tap.open('lane')
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stream.destroy(error ?? undefined)
    done(error)
  }
}
