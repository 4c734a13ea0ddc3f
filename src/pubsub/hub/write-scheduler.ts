import { afterIo } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'

/**
 * The bytes of larger messages written to all sockets in a turn of the event loop, which take about 2 ms of copying.
 */
export const WRITE_BYTES_PER_TURN = 512 * 1024
/**
 * The bytes of larger frames that a turn processes from all sockets; validating them takes a few ms.
 */
export const READ_BYTES_PER_TURN = 512 * 1024
/**
 * The number of frames processed and messages queued per turn: the maximum per client, the maximum in total, and the
 * minimum per client.
 */
const MAX_WORK = 1_000
const MAX_TOTAL_WORK = 2_000
const MIN_WORK = 50
/** The size in bytes up to which a message costs little more than any write and is not deferred. */
export const SMALL_FRAME_BYTES = 16 * 1024

export interface ScheduledWriter {
  /** Called at the end of a turn, when written data may be sent. */
  endTurn(): void
  /** Called when the writer may retry. */
  resume(): void
}

/**
 * Shares the turns of the event loop among a server's sockets. Data written in a turn is sent at its end, with one
 * task for all sockets. A turn writes only {@link WRITE_BYTES_PER_TURN} of larger messages. Further sockets wait for
 * later turns, each once, in FIFO order. So a large message to a large group delays neither small messages nor reading.
 */
export class WriteScheduler {
  #activeWriters: ScheduledWriter[] = []
  readonly #waiting = new Fifo<ScheduledWriter>()
  #writeBytesLeft = WRITE_BYTES_PER_TURN
  #readBytesLeft = READ_BYTES_PER_TURN
  #workPerTurn = MAX_WORK
  #isScheduled = false

  /** The work allowed per client in this turn. It decreases with the number of clients active in the last turn. */
  get workPerTurn(): number {
    return this.#workPerTurn
  }

  /** Returns whether a received frame may be processed in this turn. The last frame may exceed the budget. */
  tryReserveRead(bytes: number): boolean {
    if (bytes <= SMALL_FRAME_BYTES) return true
    this.#schedule()
    if (this.#readBytesLeft <= 0) return false
    this.#readBytesLeft -= bytes
    return true
  }

  /** Requests a call of `endTurn`. Call this method once per turn. */
  add(writer: ScheduledWriter): void {
    this.#activeWriters.push(writer)
    this.#schedule()
  }

  /**
   * Returns whether a message may be written in this turn. Otherwise, the scheduler calls `resume` when the writer may
   * retry, and the writer must not retry earlier. The last message of a turn may exceed the budget, so that any size is
   * eventually written.
   */
  tryReserveWrite(writer: ScheduledWriter, bytes: number): boolean {
    if (bytes <= SMALL_FRAME_BYTES) return true
    this.#schedule()
    if (this.#writeBytesLeft > 0) {
      this.#writeBytesLeft -= bytes
      return true
    }
    this.#waiting.push(writer)
    return false
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterIo(() => this.#endTurn())
  }

  #endTurn(): void {
    this.#isScheduled = false
    const written = this.#activeWriters
    this.#activeWriters = []
    this.#readBytesLeft = READ_BYTES_PER_TURN
    this.#workPerTurn = Math.max(MIN_WORK, Math.min(MAX_WORK, Math.floor(MAX_TOTAL_WORK / (written.length + 1))))
    for (const writer of written) writer.endTurn()
    this.#writeBytesLeft = WRITE_BYTES_PER_TURN
    for (let count = this.#waiting.length; count > 0 && this.#writeBytesLeft > 0; count--)
      this.#waiting.shift()?.resume()
    if (this.#waiting.length > 0) this.#schedule()
  }
}
