import type { NumberedFrame } from './dialect.js'

/** Most messages and bytes that wait for one client's acknowledgement. (Client specification, "Buffer limit".) */
export const MOST_UNACKED_MESSAGES = 1_000
export const MOST_UNACKED_BYTES = 16 * 1024 * 1024

/**
 * The messages a client has not acknowledged, numbered 1, 2, 3, ... in the order they came. A number and its bytes never
 * change, so that a repetition is known for one.
 */
export class Unacked {
  #frames: NumberedFrame[] = []
  #last = 0
  #bytes = 0

  /** The number given last, 0 before the first. */
  get last(): number {
    return this.#last
  }

  /** The number of the oldest message kept; one more than `last` when there is none. */
  get first(): number {
    return this.#last - this.#frames.length + 1
  }

  /** More than any honest client leaves unacknowledged. */
  get overflowed(): boolean {
    return this.#frames.length > MOST_UNACKED_MESSAGES || this.#bytes > MOST_UNACKED_BYTES
  }

  /** How much of what may be unacknowledged is, 0 for nothing; above 1 it has overflowed. */
  get share(): number {
    return Math.max(this.#frames.length / MOST_UNACKED_MESSAGES, this.#bytes / MOST_UNACKED_BYTES)
  }

  /** Numbers a message and keeps it. */
  add(frame: NumberedFrame): void {
    this.#frames.push(frame)
    this.#last++
    this.#bytes += frame.sizeAt(this.#last)
  }

  /** The message of a number, unless it is acknowledged or not given yet. */
  at(id: number): NumberedFrame | undefined {
    return this.#frames[id - this.first]
  }

  /** Lets go of everything up to a number, which must not be above `last`. */
  acknowledge(id: number): void {
    const first = this.first
    if (id < first) return
    const released = this.#frames.splice(0, id - first + 1)
    for (const [i, frame] of released.entries()) this.#bytes -= frame.sizeAt(first + i)
  }

  clear(): void {
    this.#frames = []
    this.#bytes = 0
  }
}
