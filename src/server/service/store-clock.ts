import { MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
import type { Clock } from '../../core/util/clock.js'
import type { Engine } from '../engine/engine.js'

/** How long a store continues from its last known time after its wall clock was set back. */
export const HOLDOVER_MS = 3_600_000
/** The divisor of the elapsed time by which the time runs more slowly while it returns to the wall clock. */
const SLOWDOWN_DIVISOR = 8

/** A clock that may run ahead of the wall clock. */
export interface StoreTime extends Clock {
  /** The time in ms by which the wall clock is behind, or 0 within the drift permitted to clients. */
  readonly setBackMs?: number
}

/**
 * The time of a store, which follows the wall clock but never decreases. After the wall clock was set back, the time
 * continues by the monotonic clock: at the full rate for {@link HOLDOVER_MS} if more than a minute is missing, because
 * clients whose clocks are right would be rejected otherwise, and then an eighth more slowly until both agree. Time
 * limits of keys are therefore right after a jump back.
 */
export class StoreClock implements StoreTime {
  readonly #clock: Clock
  /** The time at {@link #measuredAt}, in ms since the Unix epoch. It is fractional while it runs more slowly. */
  #time: number
  /** Monotonic ms. */
  #measuredAt: number
  #heldSince: number | undefined
  #behindMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#time = clock.now()
    this.#measuredAt = clock.monotonic()
  }

  get setBackMs(): number {
    this.now()
    return this.#behindMs > MAX_DRIFT_MS ? Math.floor(this.#behindMs) : 0
  }

  /** Continues from the last known time of a log. A time within the drift permitted to clients changes nothing. */
  continueFrom(lastKnownMs: number): void {
    if (lastKnownMs - this.now() > MAX_DRIFT_MS) this.#time = lastKnownMs
  }

  /** Discards the last known time. For a store that starts without keys. */
  reset(): void {
    this.#time = this.#clock.now()
  }

  now(): number {
    const wall = this.#clock.now()
    const monotonic = this.#clock.monotonic()
    const passed = Math.max(0, monotonic - this.#measuredAt)
    this.#measuredAt = monotonic
    const behind = this.#time + passed - wall
    if (behind <= 0) {
      this.#time = wall
      this.#behindMs = 0
      this.#heldSince = undefined
      return wall
    }
    this.#heldSince = behind > MAX_DRIFT_MS ? (this.#heldSince ?? monotonic) : undefined
    const isHeld = this.#heldSince !== undefined && monotonic - this.#heldSince < HOLDOVER_MS
    const correction = isHeld ? 0 : Math.min(behind, passed / SLOWDOWN_DIVISOR)
    this.#time += passed - correction
    this.#behindMs = behind - correction
    return Math.floor(this.#time)
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  schedule(delay: number, task: () => void): () => void {
    return this.#clock.schedule(delay, task)
  }

  afterInput(task: () => void): void {
    if (this.#clock.afterInput) this.#clock.afterInput(task)
    else task()
  }
}

/** Returns the time in ms by which the machine's clock is behind the store's time or its versions, otherwise 0. */
export const driftOf = (engine: Pick<Engine<never>, 'drift'>, clock: StoreTime, time = clock.now()): number =>
  Math.max(engine.drift(time), clock.setBackMs ?? 0)
