import type { Clock } from 'rx-statestore'

/** The store's clock, as its pulses tell it; ms. */
export class StoreTime {
  readonly #clock: Pick<Clock, 'now'>
  #ahead = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** @param at - the store's time, just heard */
  heard(at: number): void {
    this.#ahead = at - this.#clock.now()
  }

  now(): number {
    return this.#clock.now() + this.#ahead
  }
}
