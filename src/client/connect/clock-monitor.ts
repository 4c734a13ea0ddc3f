import type { Hlc } from '../../core/hlc/hlc.js'
import type { Clock } from '../../core/util/clock.js'
import { StateStoreError } from '../../core/util/errors.js'

/** A warning precedes the minute at which the store rejects requests (state store protocol, "Clock drift"). */
const MAX_OFFSET_MS = 30_000

/** Compares the clocks of this machine and of the store, and reports a large offset once per connection. */
export class ClockMonitor {
  readonly #clock: Clock
  readonly #report: (error: StateStoreError) => void
  #offset: number | undefined
  /** Whether the store sent its time. Other stores only send versions, which may be ahead of their clock. */
  #isExact = false
  #hasReported = false

  constructor(clock: Clock, report: (error: StateStoreError) => void) {
    this.#clock = clock
    this.#report = report
  }

  /** The time of the store minus the time of this machine, ms; `undefined` if unknown. */
  get offset(): number | undefined {
    return this.#offset
  }

  /** @param storeTime - ms since the Unix epoch */
  connected(storeTime: number | undefined): void {
    this.#isExact = storeTime !== undefined
    this.#hasReported = false
    this.#offset = undefined
    if (storeTime !== undefined) this.#observe(storeTime - this.#clock.now())
  }

  /** Handles a version that the store has just assigned: its clock, or a later one of a client. */
  assigned({ wallClock }: Hlc): void {
    if (!this.#isExact) this.#observe(Math.max(0, wallClock - this.#clock.now()))
  }

  #observe(offset: number): void {
    this.#offset = offset
    if (Math.abs(offset) <= MAX_OFFSET_MS || this.#hasReported) return
    this.#hasReported = true
    const seconds = Math.round(Math.abs(offset) / 1_000)
    const direction = offset < 0 ? 'ahead of' : 'behind'
    this.#report(
      new StateStoreError(
        'clock-skew',
        `The clock of this machine is ${seconds} s ${direction} the clock of the store: set the wrong one; requests are rejected when this one is a minute ahead`,
      ),
    )
  }
}
