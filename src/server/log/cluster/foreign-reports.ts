import type { Clock } from '../../../core/util/clock.js'
import { foreign } from './errors.js'

/** Of messages that are of no node one is reported in this time, ms. */
const PAUSE = 10_000

/** Reports messages that are of no node: the first at once, of a flood one in ten seconds. */
export class ForeignReports {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: unknown) => void
  #reportedAt = Number.NEGATIVE_INFINITY
  #last: { readonly position: number; readonly why: string } | undefined
  #unreported = 0

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: unknown) => void) {
    this.#clock = clock
    this.#report = report
  }

  take(position: number, why: string): void {
    this.#last = { position, why }
    this.#unreported++
    this.look()
  }

  /** To be called from time to time. */
  look(): void {
    const now = this.#clock.monotonic()
    if (this.#last === undefined || now - this.#reportedAt < PAUSE) return
    const { position, why } = this.#last
    const more = this.#unreported - 1
    this.#reportedAt = now
    this.#last = undefined
    this.#unreported = 0
    this.#report(foreign(position, why, more))
  }
}
