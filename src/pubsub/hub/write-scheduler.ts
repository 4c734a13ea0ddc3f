import { afterIo } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'

/** Bytes of larger messages that all sockets together are given in a turn of the event loop: about 2 ms of copying. */
export const BYTES_PER_TURN = 512 * 1024
/** Bytes of larger frames that all sockets together are read in a turn: some ms of checking, whatever they contain. */
export const READ_BYTES_PER_TURN = 512 * 1024
/** Work (frames processed, messages queued) in a turn: of one client, of all together, and of one beside many others. */
const MAX_WORK = 1_000
const WORK_OF_ALL = 2_000
const MIN_WORK = 50
/** Up to this size a message costs little more than any write, and is not put off, bytes. */
export const SMALL = 16 * 1024

/** A socket that is written to. */
export interface ScheduledWriter {
  /** The turn is over: what was written to it may leave. */
  endTurn(): void
  /** It may ask again. */
  resume(): void
}

/**
 * Shares the turns of the event loop among the sockets of a server. What is written to a socket in one turn leaves at its
 * end, with one task for all sockets. Of larger messages a turn takes only {@link BYTES_PER_TURN}; sockets that would
 * write more wait for later turns, each once, in the order in which they asked. So a large message to a large group holds up
 * neither those who send small ones nor those who want to be heard.
 */
export class WriteScheduler {
  #written: ScheduledWriter[] = []
  readonly #waiting = new Fifo<ScheduledWriter>()
  #bytesLeft = BYTES_PER_TURN
  #readBytesLeft = READ_BYTES_PER_TURN
  #workPerTurn = MAX_WORK
  #scheduled = false

  /** How much work one client gets in this turn: the less, the more clients had something to do in the last one. */
  get workPerTurn(): number {
    return this.#workPerTurn
  }

  /**
   * Whether a received frame of so many bytes may be processed in this turn. If not, ask again in the next one. The last
   * one in a turn may be larger than what is left.
   */
  takes(bytes: number): boolean {
    if (bytes <= SMALL) return true
    this.#schedule()
    if (this.#readBytesLeft <= 0) return false
    this.#readBytesLeft -= bytes
    return true
  }

  /** Asks for `endTurn` once; to be called once per turn. */
  add(writer: ScheduledWriter): void {
    this.#written.push(writer)
    this.#schedule()
  }

  /**
   * Whether a message may be written in this turn. If not, the writer is told when to ask again, and must not ask before.
   * The last one in a turn may be larger than what is left, so that any size is written at last.
   */
  admits(writer: ScheduledWriter, bytes: number): boolean {
    if (bytes <= SMALL) return true
    this.#schedule()
    if (this.#bytesLeft > 0) {
      this.#bytesLeft -= bytes
      return true
    }
    this.#waiting.push(writer)
    return false
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    afterIo(() => this.#endTurn())
  }

  #endTurn(): void {
    this.#scheduled = false
    const written = this.#written
    this.#written = []
    this.#readBytesLeft = READ_BYTES_PER_TURN
    this.#workPerTurn = Math.max(MIN_WORK, Math.min(MAX_WORK, Math.floor(WORK_OF_ALL / (written.length + 1))))
    for (const writer of written) writer.endTurn()
    this.#bytesLeft = BYTES_PER_TURN
    for (let count = this.#waiting.length; count > 0 && this.#bytesLeft > 0; count--) this.#waiting.shift()?.resume()
    if (this.#waiting.length > 0) this.#schedule()
  }
}
