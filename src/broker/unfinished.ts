import type { Clock } from '../base/clock.js'
import type { Deadline } from '../base/deadlines.js'
import type { Timeouts } from '../base/timeouts.js'
import { LIMIT } from './limits.js'

/** Where a packet comes in. */
export interface UnfinishedHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/** A packet that is not complete: a client that begins one has to end it some time. */
export class Unfinished {
  /** When it began, ms; `undefined` when there is none, or that has to be looked up. */
  begun: number | undefined
  readonly #host: UnfinishedHost
  readonly #held: () => number
  readonly #overdue: () => void
  #deadline: Deadline<() => void> | undefined

  /**
   * @param held - how much of it is there, bytes
   * @param overdue - it takes longer than it may
   */
  constructor(host: UnfinishedHost, held: () => number, overdue: () => void) {
    this.#host = host
    this.#held = held
    this.#overdue = overdue
  }

  /** There is one. */
  watch(): void {
    const { clock, timeouts } = this.#host
    this.begun ??= clock.monotonic()
    this.#deadline ??= timeouts.add(this.begun + LIMIT.packetTimeout, this.#late)
  }

  /** For so many ms nothing of it was read. */
  postpone(ms: number): void {
    if (this.begun !== undefined) this.begun += ms
  }

  /** There will be no more. */
  stop(): void {
    if (this.#deadline) this.#host.timeouts.remove(this.#deadline)
    this.begun = undefined
  }

  readonly #late = (): void => {
    this.#deadline = undefined
    if (this.begun === undefined) return
    const { clock, timeouts } = this.#host
    const due = Math.max(this.begun + LIMIT.packetTimeout, this.begun + this.#held() / LIMIT.packetRate)
    if (due <= clock.monotonic()) this.#overdue()
    else this.#deadline = timeouts.add(due, this.#late)
  }
}
