import { afterIo, type Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'

/** A piece of work, which returns whether work remains at the deadline in ms of the monotonic clock. */
export type Work = (deadlineMs: number) => boolean

/**
 * The time in ms per turn for the work of all connections, and the minimum per connection when many are waiting.
 */
const TURN_MS = 8
const MIN_SLICE_MS = 0.25
/**
 * The bytes of larger messages written to all sockets in a turn, which take about 2 ms of copying.
 */
export const WRITE_BYTES_PER_TURN = 512 * 1024
/**
 * The bytes of larger frames that a turn processes from all sockets; validating them takes a few ms.
 */
const READ_BYTES_PER_TURN = 512 * 1024
/** The size in bytes up to which a message costs little more than any write and is not deferred. */
export const SMALL_MESSAGE_BYTES = 16 * 1024
/**
 * The number of frames processed and messages queued per turn: the maximum per client, the maximum in total, and the
 * minimum per client.
 */
const MAX_WORK = 1_000
const MAX_TOTAL_WORK = 2_000
const MIN_WORK = 50

/**
 * Shares the turns of the event loop among a server's connections. At the end of a turn, the scheduler flushes written
 * data, lets connections with large messages write a limited number of bytes, and gives each waiting connection a slice
 * of time. All of it shares one callback, because a callback per connection would cost as much as writing a packet. An
 * item that throws is reported, and all others run in the same turn.
 */
export class TurnScheduler {
  /** Called with the error of an item, which then counts as complete. */
  readonly onError: (error: unknown) => void
  readonly #clock: Pick<Clock, 'monotonic'>
  #tasks: (() => void)[] = []
  readonly #writers = new Fifo<() => void>()
  readonly #waiting = new Fifo<Work>()
  /** The time used in ms, including earlier turns that used less than a slice. */
  #usedMs = 0
  #readBytesLeft = READ_BYTES_PER_TURN
  #writeBytesLeft = WRITE_BYTES_PER_TURN
  #workPerTurn = MAX_WORK
  #isScheduled = false

  constructor(clock: Pick<Clock, 'monotonic'>, onError: (error: unknown) => void) {
    this.#clock = clock
    this.onError = onError
  }

  /** The frames that one client may have processed in this turn. The number falls with the tasks of the last turn. */
  get workPerTurn(): number {
    return this.#workPerTurn
  }

  /**
   * Runs or queues work. Work that exceeds its slice, or the time of a turn, continues in a later turn after earlier
   * work, so that a flooding client delays others by at most one slice. Returns whether the work is complete.
   */
  run(work: Work): boolean {
    const isDone = this.#usedMs < TURN_MS && !this.#runSlice(work)
    if (!isDone) this.#waiting.push(work)
    // Scheduling a callback costs as much as a small piece of work, so small pieces share one turn.
    if (!isDone || this.#usedMs > MIN_SLICE_MS) this.#schedule()
    return isDone
  }

  /**
   * Runs a task after the current input of the event loop, or in the next turn if it is added at the end of this one.
   */
  atTurnEnd(task: () => void): void {
    this.#tasks.push(task)
    this.#schedule()
  }

  /** Returns whether a received frame may be processed in this turn. The last frame may exceed the budget. */
  tryReserveRead(bytes: number): boolean {
    if (bytes <= SMALL_MESSAGE_BYTES) return true
    this.#schedule()
    if (this.#readBytesLeft <= 0) return false
    this.#readBytesLeft -= bytes
    return true
  }

  /**
   * Returns whether a message may be written in this turn. Otherwise, the scheduler calls `retry` once, in the order of
   * the refusals, and the caller must not retry earlier. The last message of a turn may exceed the budget, so that any
   * size is eventually written.
   */
  tryReserveWrite(bytes: number, retry: () => void): boolean {
    if (bytes <= SMALL_MESSAGE_BYTES) return true
    this.#schedule()
    if (this.#writeBytesLeft > 0) {
      this.#writeBytesLeft -= bytes
      return true
    }
    this.#writers.push(retry)
    return false
  }

  #runSlice(work: Work): boolean {
    const start = this.#clock.monotonic()
    let hasMore = false
    try {
      hasMore = work(start + Math.max(MIN_SLICE_MS, TURN_MS / (1 + this.#waiting.length)))
    } catch (error) {
      this.onError(error)
    }
    this.#usedMs += this.#clock.monotonic() - start
    return hasMore
  }

  #runSafely(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.onError(error)
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterIo(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#isScheduled = false
    const tasks = this.#tasks
    this.#tasks = []
    this.#usedMs = 0
    this.#readBytesLeft = READ_BYTES_PER_TURN
    this.#workPerTurn = Math.max(MIN_WORK, Math.min(MAX_WORK, Math.floor(MAX_TOTAL_WORK / (tasks.length + 1))))
    for (const task of tasks) this.#runSafely(task)
    // Tasks use what is left of the budget, so that they cannot take the turns of the waiting writers.
    this.#writeBytesLeft = WRITE_BYTES_PER_TURN
    for (let count = this.#writers.length; count > 0 && this.#writeBytesLeft > 0; count--) {
      const retry = this.#writers.shift()
      if (retry !== undefined) this.#runSafely(retry)
    }
    for (let count = this.#waiting.length; count > 0 && this.#usedMs < TURN_MS; count--) {
      const work = this.#waiting.shift()
      if (work !== undefined && this.#runSlice(work)) this.#waiting.push(work)
    }
    if (this.#waiting.length > 0 || this.#writers.length > 0) this.#schedule()
  }
}
