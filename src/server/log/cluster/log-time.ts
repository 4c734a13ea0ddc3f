/** Of the time that passes, so much is left out while the log's time is ahead of the stream's. */
const SLOWER = 8

/** Where the log's time is; goes with a snapshot. */
export interface LogTimeState {
  /** Of the last message, by the stream, ms since the Unix epoch. */
  readonly stream: number
  /** Of the last entry, ms since the Unix epoch; with a fraction while it is being put right. */
  readonly time: number
}

/**
 * The time of entries: that of the stream, but it never goes back, and goes on when that does. The stream's jumps with the
 * clock of whoever leads it. If it went back by an hour, and the log's time stood still until it has caught up, every lease
 * would last an hour longer; so it goes on from where it was, an eighth slower until the two are the same again.
 */
export class LogTime {
  #stream: number
  #time: number

  constructor({ stream, time }: LogTimeState = { stream: 0, time: 0 }) {
    this.#stream = stream
    this.#time = time
  }

  /** Of the last entry, ms. */
  get last(): number {
    return Math.floor(this.#time)
  }

  get state(): LogTimeState {
    return { stream: this.#stream, time: this.#time }
  }

  /** The time of the next entry, which the stream took at its time (ms). */
  next(stream: number): number {
    const passed = Math.max(0, stream - this.#stream)
    const ahead = Math.max(0, this.#time - this.#stream)
    this.#time += passed - Math.min(ahead, passed / SLOWER)
    this.#stream = stream
    // What is left of a fraction ends with the difference.
    if (this.#time < stream) this.#time = stream
    return this.last
  }
}
